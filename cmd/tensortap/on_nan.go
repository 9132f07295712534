package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// whatOnNan is what may be done at the first NaN or infinity, one or more of these.
func whatOnNan() []string { return []string{"record", "keep", "stop", "raise"} }

// checkOnNan refuses what the collector could not honour.
func checkOnNan(asked string) error {
	for part := range strings.SplitSeq(asked, ",") {
		if asked != "" && !slices.Contains(whatOnNan(), strings.TrimSpace(part)) {
			return fmt.Errorf("--on-nan %s: want %s, or several with commas", strconv.Quote(asked), strings.Join(whatOnNan(), ", "))
		}
	}
	return nil
}
