package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// refuseRepeated has each flag of one value, of a command and of those below it, refuse a second one: else the last
// would silently be the only one.
func refuseRepeated(c *cobra.Command) {
	refuse := func(f *pflag.Flag) {
		if _, many := f.Value.(pflag.SliceValue); !many {
			f.Value = &single{Value: f.Value}
			if f.DefValue == "0s" { // which help leaves out of values that it knows
				f.DefValue = "0"
			}
		}
	}
	c.LocalNonPersistentFlags().VisitAll(refuse)
	c.PersistentFlags().VisitAll(refuse)
	for _, below := range c.Commands() {
		refuseRepeated(below)
	}
}

// single is the value of a flag that may be given once, or again with the same text.
type single struct {
	pflag.Value

	given bool
	text  string
}

// Set is an error for a second text.
func (s *single) Set(text string) error {
	if s.given && text != s.text {
		return fmt.Errorf("it was given before as %q, and takes one value", s.text)
	}
	s.given, s.text = true, text
	return s.Value.Set(text)
}
