package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/internal/apilist"
	"github.com/tensortap/tensortap/internal/steps"
)

// whatOnNan is what may be done at the first NaN or infinity, one or more of these.
func whatOnNan() []string { return []string{"record", "keep", "stop", "raise"} }

// checkOnNan refuses what the collector could not honour.
func (l *launching) checkOnNan() error {
	asked, beside := *l.settings["on-nan"], []string(nil)
	for part := range strings.SplitSeq(asked, ",") {
		part = strings.TrimSpace(part)
		if asked != "" && !slices.Contains(whatOnNan(), part) {
			return fmt.Errorf("--on-nan %s: want %s, or several with commas", strconv.Quote(asked), strings.Join(whatOnNan(), ", "))
		}
		if part != "" && part != whatOnNan()[0] {
			beside = append(beside, part)
		}
	}
	ranks, err := steps.Parse(*l.settings["ranks"])
	switch {
	case len(beside) == 0 || err != nil: // which is told with its flag
		return nil
	case *l.settings["level"] == "aten" || *l.settings["task"] == "structure":
		return fmt.Errorf("--on-nan %s: level aten and task structure measure no ops of modules or APIs; take level L0, L1 or mix with another task", asked)
	case slices.Contains(beside, "stop") && !ranks.All():
		return fmt.Errorf("--on-nan %s: stop ends all ranks, and one that is not recorded hears nothing of it; leave out --ranks", asked)
	}
	return nil
}

// checkApis makes the file's name absolute, and refuses a file that the collector could not read.
func checkApis(path *string) error {
	if err := absolute("apis", path); err != nil || *path == "" {
		return err
	}
	if err := apilist.Check(*path); err != nil {
		return fmt.Errorf("--apis: %w", err)
	}
	return nil
}
