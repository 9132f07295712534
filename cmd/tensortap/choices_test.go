package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/producers/agent"
)

// TestWhatAFlagMayBeIsWhatTheCollectorTakes holds the choices of run against those that settings.py declares.
func TestWhatAFlagMayBeIsWhatTheCollectorTakes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../producers/torch/src/tensortap/_config/settings.py")
	if err != nil {
		t.Fatal(err)
	}
	l := launching{settings: map[string]*string{}}
	cmd := &cobra.Command{}
	l.flags(&app{}, cmd)
	for flag, known := range map[string]struct {
		here     []string
		declared string
	}{
		"task":        {tasks(), `"task": `},
		"file-format": {fileFormats(), `"file_format": `},
		"level":       {append(agent.Levels(), "debug"), `"level": `}, // which is for whoever taps the model in code
		"on-nan":      {whatOnNan(), `ON_NAN: Final = `},
	} {
		if there := choices(string(text), known.declared); !slices.Equal(slices.Sorted(slices.Values(known.here)), slices.Sorted(slices.Values(there))) {
			t.Errorf("--%s may be %q, and the collector takes %q", flag, known.here, there)
		}
		usage := cmd.Flag(flag).Usage
		for _, one := range known.here {
			if one != "debug" && one != "record" && !strings.Contains(usage, one) { // record is what is done in any case
				t.Errorf("--%s: its usage %q does not name %s", flag, usage, one)
			}
		}
	}
}

// choices are the texts of the tuple that follows.
func choices(python, before string) []string {
	_, after, _ := strings.Cut(python, before+"(")
	tuple, _, _ := strings.Cut(after, ")")
	var all []string
	for _, match := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(tuple, -1) {
		all = append(all, match[1])
	}
	return all
}
