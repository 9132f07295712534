package api

import (
	"context"
	"fmt"
	"time"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

// openedFor is how long a comparison stays open of which no op is asked any more.
const openedFor = 5 * time.Minute

// opened has the comparison of which an op was explained last: who looks at one looks at the next, and most of the work is the
// same.
type opened struct {
	places places // one: a comparison explains one op at a time
	of     string // what is compared, how, and what that rests on
	last   *system.Explaining
	forget *time.Timer
}

func newOpened() *opened { return &opened{places: make(places, 1)} }

// explain explains an op. Its comparison is kept by what it rests on, which is empty where that is not known.
func (o *opened) explain(ctx context.Context, client *system.Client, r system.ExplainRequest, rests string) (explanation report.Explanation, err error) {
	mapped := fmt.Sprint(r.Compare.ByName)
	if r.Compare.Map != nil {
		mapped = r.Compare.Map.Digest
	}
	of := fmt.Sprintf("%q %q %v %d %s %q %s", r.Compare.Problem, r.Compare.Benches, r.Compare.Tolerance, r.Compare.StepOffset, mapped, r.Compare.Calibrate, rests)
	err = o.places.during(ctx, func() error {
		with := o.last
		if with == nil || o.of != of {
			if with, err = client.OpenExplaining(ctx, r); err != nil {
				return err
			}
		}
		if rests != "" {
			o.keep(with, of)
		}
		explanation, err = with.Explain(ctx, r)
		return err
	})
	return explanation, err
}

func (o *opened) keep(with *system.Explaining, of string) {
	o.last, o.of = with, of
	if o.forget != nil {
		o.forget.Stop()
	}
	o.forget = time.AfterFunc(openedFor, func() {
		o.places <- struct{}{}
		o.last = nil
		<-o.places
	})
}
