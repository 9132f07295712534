package roles

import (
	"fmt"
	"slices"
	"time"

	"github.com/tensortap/tensortap/consumers/alerts/receiver"
)

// plant is an alert that has to be told: each run has at most one of each rule.
type plant struct{ rule, run string }

func (p plant) String() string { return p.rule + " of " + p.run }

// tiding is that a receiver was told of a change of an alert.
type tiding struct {
	receiver, state string
	about           plant
	id              string // of the change
	at              time.Time
}

func tellers() []string { return []string{byCommand, byMail, byAlertmanager} }

// missing are planted alerts of which a receiver was not told, in words.
func missing(planted []plant, told []tiding) (found []string) {
	for _, name := range tellers() {
		for _, p := range planted {
			if !slices.ContainsFunc(told, func(t tiding) bool { return t.receiver == name && t.state == receiver.Firing && t.about == p }) {
				found = append(found, fmt.Sprintf("%s was not told of %s", name, p))
			}
		}
	}
	return found
}

// reckoning is what is wrong with what receivers were told, in words, and how often one was told again of the same change as
// the role was killed after it had told and before it had noted that: docs/alerts.md promises no better.
func reckoning(planted []plant, told []tiding, deaths []time.Time) (wrong []string, again int) {
	wrong = missing(planted, told)
	type key struct {
		receiver, state string
		about           plant
	}
	before := map[key]tiding{}
	for _, t := range slices.SortedFunc(slices.Values(told), func(a, b tiding) int { return a.at.Compare(b.at) }) {
		k := key{t.receiver, t.state, t.about}
		last, known := before[k]
		before[k] = t
		switch {
		case !slices.Contains(planted, t.about):
			wrong = append(wrong, fmt.Sprintf("%s was told that %s is %s, which nobody planted: %s", t.receiver, t.about, t.state, t.id))
		case !known:
		case t.id == last.id && slices.ContainsFunc(deaths, func(at time.Time) bool { return at.After(last.at) && at.Before(t.at) }):
			again++
		default:
			wrong = append(wrong, fmt.Sprintf("%s was told twice that %s is %s: %s, and then %s", t.receiver, t.about, t.state, last.id, t.id))
		}
	}
	return wrong, again
}
