package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestRoutesToRecordArePaths(t *testing.T) {
	t.Parallel()
	for _, routes := range [][]string{{"mine"}, {"/mine", "off"}, {"/a\n/b"}, {""}} {
		s := servedRequests{routes: routes}
		if err := s.check(); err == nil || !strings.Contains(err.Error(), "want paths, as /generate, or off alone") {
			t.Errorf("%q: %v", routes, err)
		}
	}
}

func TestARecordingHasAFolderOfItsOwnThatIsGoneWhereNothingIsRecorded(t *testing.T) {
	t.Parallel()
	a := &app{data: t.TempDir()}
	s := servedRequests{routes: []string{"/mine", "/other"}, keepPrompts: true}
	variables, err := s.begin(a, "bad")
	if err != nil || !slices.Equal(variables, []string{"TENSORTAP_REQUESTS=" + s.folder + "\nkeep\n/mine,/other"}) {
		t.Fatalf("%q, %v", variables, err)
	}
	s.remove()
	if _, err := os.Stat(s.folder); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
	off := servedRequests{routes: []string{"off"}}
	if err := off.check(); err != nil {
		t.Fatal(err)
	}
	if variables, err := off.begin(a, "bad"); err != nil || !slices.Equal(variables, []string{"TENSORTAP_REQUESTS="}) || off.folder != "" {
		t.Errorf("off: %q, %v", variables, err)
	}
}

func TestReplayRequestsRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	for want, words := range map[string][]string{
		`--pace "fast": want one or recorded`:        {"--from", "bad", "--to", "http://a", "--pace", "fast"},
		`output "xml": want one of`:                  {"--from", "bad", "--to", "http://a", "--output", "xml"},
		`"localhost": want one as http://localhost`:  {"--from", "bad", "--to", "localhost"},
		"--api-key-file: open":                       {"--from", "bad", "--to", "http://a", "--api-key-file", "/nonexistent"},
		"if any flags in the group [from from-file]": {"--from", "bad", "--from-file", "x", "--to", "http://a"},
		"at least one of the flags in the group":     {"--to", "http://a"},
		"no such file":                               {"--from-file", "/nonexistent", "--to", "http://a"},
	} {
		var stdout, stderr strings.Builder
		status := run(t.Context(), append([]string{"--data", t.TempDir(), "replay-requests"}, words...), &stdout, &stderr, func(string) string { return "" })
		if status != exitError || !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: status %d: %s", words, status, stderr.String())
		}
	}
}

func TestARecordingOfWhichSomeCouldNotBeReadStays(t *testing.T) {
	t.Parallel()
	for problems, want := range map[int]string{0: "", 1: "(problems: 1): the recording stays in "} {
		var said strings.Builder
		a := &app{data: t.TempDir(), stderr: &said}
		s := servedRequests{}
		if _, err := s.begin(a, "bad"); err != nil {
			t.Fatal(err)
		}
		s.settle(a, "bad", 3, problems)
		_, err := os.Stat(s.folder)
		if stays := err == nil; stays != (problems > 0) || !strings.Contains(said.String(), want) {
			t.Errorf("%d problems: stays %t: %s", problems, stays, said.String())
		}
	}
}
