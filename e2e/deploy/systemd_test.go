package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// TestUnitsAreWhatSystemdTakes has systemd read the units, as instances of each role.
func TestUnitsAreWhatSystemdTakes(t *testing.T) {
	t.Parallel()
	verify, err := exec.LookPath("systemd-analyze")
	if err != nil {
		testbed.Needed(t, "systemd-analyze is not there: it is in Debian's package systemd")
	}
	folder := t.TempDir()
	var units []string
	for unit, instances := range map[string][]string{"tensortap@": {"consume", "judge", "alert", "serve"}, "tensortap-agent@": {"trainer"}} {
		text, err := os.ReadFile(filepath.Join(root, "deploy", "systemd", unit+".service"))
		if err != nil {
			t.Fatal(err)
		}
		// It looks whether the program is there, and the user.
		here := strings.NewReplacer("/usr/local/bin/tensortap", "/bin/true", "User=%i", "User=daemon").Replace(string(text))
		for _, instance := range instances {
			path := filepath.Join(folder, unit+instance+".service")
			if err := os.WriteFile(path, []byte(here), 0o600); err != nil {
				t.Fatal(err)
			}
			units = append(units, path)
		}
	}
	cmd := exec.CommandContext(t.Context(), verify, append([]string{"verify", "--man=no", "--recursive-errors=no"}, units...)...) //nolint:gosec // found above
	said, err := cmd.CombinedOutput()
	if err != nil || len(bytes.TrimSpace(said)) > 0 {
		t.Errorf("%v\n%s", err, said)
	}
}

func TestTheSlurmPrologStartsOneAgentOfANode(t *testing.T) {
	t.Parallel()
	prolog := filepath.Join(root, "deploy", "slurm", "prolog.sh")
	folder := t.TempDir()
	started := filepath.Join(folder, "started")
	agent := filepath.Join(folder, "tensortap")
	if err := os.WriteFile(agent, []byte("#!/bin/sh\necho \"$@\" >"+started+"\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	run := func(environment ...string) string {
		cmd := exec.CommandContext(t.Context(), "bash", prolog) //nolint:gosec // of the tree
		cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "SLURM_JOB_ID=7", "TENSORTAP_SPOOL=" + filepath.Join(folder, "spool", "job-7"), "TENSORTAP_BINARY=" + agent}, environment...)
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		return string(said)
	}
	if said := run(); said != "" {
		t.Errorf("a job that is not recorded: %s", said)
	}
	if said := run("TENSORTAP_RUN=nightly", "SLURM_LOCALID=1"); !strings.Contains(said, "export TENSORTAP_RUN=nightly\nexport TENSORTAP_ATTACH=1\n") || strings.Contains(said, "print") {
		t.Errorf("the second task of a node: %s", said)
	}
	if said := run("TENSORTAP_RUN=nightly", "TENSORTAP_BINARY=/nowhere"); !strings.Contains(said, "print tensortap: /nowhere is not there") {
		t.Errorf("without the program: %s", said)
	}
	if said := run("TENSORTAP_RUN=nightly", "SLURM_LOCALID=0"); !strings.Contains(said, "print tensortap: an agent publishes run nightly") {
		t.Errorf("the first task of a node: %s", said)
	}
	err := program.Await(time.Minute, "the agent, which outlives the prolog", func() bool {
		text, err := os.ReadFile(started)
		return err == nil && strings.HasPrefix(string(text), "agent --data ")
	})
	if err != nil {
		t.Error(err)
	}
}
