package main

import (
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/sql"
)

// Parameters of a report that one flag, --steps, stands for.
const (
	firstStep = "first_step"
	lastStep  = "last_step"
)

// addSteps adds --steps. More says whose steps.
func addSteps(f *pflag.FlagSet, into *steps.Set, more string) {
	f.Func("steps", "only these `STEPS`"+more+", as 0,3-5,10-100/10, 5- or 0/2 for every second", func(text string) (err error) {
		if strings.TrimSpace(text) == "" {
			return errors.New("want numbers and ranges, as 0,3-5 or 5-, or all")
		}
		*into, err = steps.Parse(text)
		return err
	})
}

// takesSteps says whether a report is about a range of steps.
func takesSteps(r sql.Report) bool {
	found := 0
	for _, p := range r.Parameters {
		if p.Name == firstStep || p.Name == lastStep {
			found++
		}
	}
	return found == 2
}

// stepParameters are the parameters of a report about these steps.
func stepParameters(set steps.Set) map[string]string {
	return map[string]string{firstStep: strconv.FormatInt(set.First(), 10), lastStep: strconv.FormatInt(set.Last(), 10)}
}
