package main

import (
	"io"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestAFlagOfOneValueThatIsGivenTwiceIsRefused tries each flag of each command that takes one value.
func TestAFlagOfOneValueThatIsGivenTwiceIsRefused(t *testing.T) {
	t.Parallel()
	tried := map[*pflag.Flag]bool{}
	for _, c := range commands(newRoot(io.Discard, io.Discard, noEnvironment)) {
		c.InheritedFlags() // merges those of its parents
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if _, many := f.Value.(pflag.SliceValue); many || tried[f] || f.Name == "help" || f.Name == "version" {
				return
			}
			tried[f] = true
			one, other := twoValues(f)
			if err := c.ParseFlags([]string{"--" + f.Name + "=" + one, "--" + f.Name + "=" + one}); err != nil {
				t.Errorf("%s --%s=%s, twice the same: %v", c.CommandPath(), f.Name, one, err)
			}
			if err := c.ParseFlags([]string{"--" + f.Name + "=" + other}); err == nil || !strings.Contains(err.Error(), "--"+f.Name) {
				t.Errorf("%s --%s=%s --%s=%s: %v", c.CommandPath(), f.Name, one, f.Name, other, err)
			}
		})
	}
	if len(tried) < 300 {
		t.Errorf("%d flags were tried", len(tried))
	}
}

func twoValues(f *pflag.Flag) (one, other string) {
	switch f.Value.Type() {
	case "bool":
		return "true", "false"
	case "duration":
		return "1s", "2s"
	}
	return "1", "2"
}

func TestALabelThatIsGivenTwiceIsRefused(t *testing.T) {
	t.Parallel()
	if labels, err := parseLabels([]string{"a=1", "b=2", "a=1"}); err != nil || len(labels) != 2 {
		t.Errorf("twice the same: %v, %v", labels, err)
	}
	if labels, err := parseLabels([]string{"a=1", "a=2"}); err == nil {
		t.Errorf("two values of one name are taken as %v", labels)
	}
}
