package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestSettingsThatEachProcessWouldRefuseAreRefusedHere(t *testing.T) {
	t.Parallel()
	apis := filepath.Join(t.TempDir(), "apis.yaml")
	if err := os.WriteFile(apis, []byte("functionl:\n- relu\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]string{
		"--on-nan=stop --ranks=0":        "leave out --ranks",
		"--on-nan=stop --ranks=all":      "",
		"--on-nan=keep --ranks=0":        "",
		"--on-nan=keep --level=aten":     "take level L0, L1 or mix",
		"--on-nan=keep --task=structure": "take level L0, L1 or mix",
		"--on-nan=record --level=aten":   "",
		"--on-nan=never":                 "want record, keep",
		"--apis=" + apis:                 "line 1: unknown group functionl",
		"--apis=" + apis + "-not-there":  "--apis: stat",
	} {
		l := launching{settings: map[string]*string{}}
		cmd := &cobra.Command{}
		l.flags(&app{}, cmd)
		if err := cmd.ParseFlags(append(strings.Fields(words), "--run=r")); err != nil {
			t.Fatal(err)
		}
		err := l.check()
		if got := err == nil; got != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", words, err, want)
		}
	}
}

func TestWhereADifferenceIsAwaitedNoConditionFromOutsideHolds(t *testing.T) {
	t.Parallel()
	l := launching{settings: map[string]*string{}, when: whenWords{difference: true}}
	variables, err := l.variables()
	if err != nil || !slices.Contains(variables, "TENSORTAP_WHEN=") {
		t.Errorf("%q, %v", variables, err)
	}
}
