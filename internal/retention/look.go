package retention

import "time"

// How often it is looked whose time is over.
const (
	oftenest = 5 * time.Second
	rarest   = 10 * time.Minute
)

// LookEvery is how often to look whose time is over: ten times within the shortest of all times, and each ten minutes at least.
func (r Rules) LookEvery() time.Duration {
	const within = 10
	every := rarest
	for _, rule := range r {
		for _, after := range rule.After {
			every = min(every, after/within)
		}
		if rule.Spools > 0 {
			every = min(every, rule.Spools/within)
		}
	}
	return max(every, oftenest)
}
