package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/doctor"
	"github.com/tensortap/tensortap/internal/embedded/guard"
	"github.com/tensortap/tensortap/internal/system"
)

// installation is one on which nothing runs.
func installation(t *testing.T) doctor.Installation {
	t.Helper()
	folder := system.Folder(t.TempDir())
	if err := os.Chmod(string(folder), 0o700); err != nil { //nolint:gosec // a folder
		t.Fatal(err)
	}
	return doctor.Installation{
		Folder: folder, Spool: filepath.Join(t.TempDir(), "spool"), Version: "v2", Now: time.Now,
		Engine: func() (string, error) { return "ClickHouse", nil },
		Find:   func() (system.Endpoint, error) { return folder.Find() },
	}
}

// of are the findings of a part, as text.
func of(findings []doctor.Finding, part string) string {
	var lines []string
	for _, f := range findings {
		if f.Part == part {
			lines = append(lines, fmt.Sprintf("%s: %s [%s]", f.State, f.Text, f.Remedy))
		}
	}
	return strings.Join(lines, "\n")
}

func TestWithoutASystemTheHostIsLookedAtAlone(t *testing.T) {
	t.Parallel()
	in := installation(t)
	findings := doctor.Examine(t.Context(), in)
	for part, want := range map[string]string{
		"engine": "well: ", "folder": "well: ", "agent": "well: 0 processes", "system": "unknown: no system runs on ",
	} {
		if got := of(findings, part); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", part, got, want)
		}
	}
	if worst := doctor.Worst(findings); worst == doctor.Well {
		t.Errorf("all is said to be well in %v", findings)
	}
}

func TestEachFaultOfAHostIsNamedWithWhatToDo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plant func(t *testing.T, in *doctor.Installation)
		part  string
		want  []string
	}{
		"no engine": {func(_ *testing.T, in *doctor.Installation) {
			in.Engine = func() (string, error) { return "", errors.New("it is not installed") }
		}, "engine", []string{"wrong: it is not installed", "tensortap engine install"}},
		"open folder": {func(t *testing.T, in *doctor.Installation) {
			t.Helper()
			if err := os.Chmod(string(in.Folder), 0o777); err != nil { //nolint:gosec // the fault
				t.Fatal(err)
			}
		}, "folder", []string{"wrong: other users may rename", "chmod go-w"}},
		"open password": {func(t *testing.T, in *doctor.Installation) {
			t.Helper()
			write(t, filepath.Join(string(in.Folder), "credentials.json"), 0o644)
		}, "folder", []string{"wrong: other users can read the passwords", "chmod 600"}},
		"a file in its place": {func(t *testing.T, in *doctor.Installation) {
			t.Helper()
			in.Folder = system.Folder(filepath.Join(t.TempDir(), "file"))
			write(t, string(in.Folder), 0o600)
		}, "folder", []string{"is no folder"}},
		"spilled messages": {func(t *testing.T, in *doctor.Installation) {
			t.Helper()
			if err := os.Mkdir(filepath.Join(string(in.Folder), "spill"), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(string(in.Folder), "spill", "publisher-0-1.message"), 0o600)
		}, "spill", []string{"wrong: 1 message that no stream takes lies", "dead-letters"}},
		"spools that nobody reads": {func(t *testing.T, in *doctor.Installation) {
			t.Helper()
			in.Spool = t.TempDir()
			s := testbed.NewSpool(t, in.Spool, testbed.SpoolOptions{Run: "bad", Epoch: 1})
			s.Step(0, 1)
		}, "agent", []string{"wrong: 1 process of run bad", "no agent reads it", "tensortap agent"}},
		"spools that dropped": {func(t *testing.T, in *doctor.Installation) {
			t.Helper()
			in.Spool = t.TempDir()
			s := testbed.NewSpool(t, in.Spool, testbed.SpoolOptions{Run: "bad", Epoch: 1})
			s.Head.DroppedCount = 7
			s.WriteHead()
		}, "agent", []string{"processes of run bad dropped 7 records"}},
		"a root that others can write": {func(t *testing.T, in *doctor.Installation) {
			t.Helper()
			in.Spool = t.TempDir()
			if err := os.Chmod(in.Spool, 0o777); err != nil { //nolint:gosec // the fault
				t.Fatal(err)
			}
		}, "agent", []string{"may be written by other users"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := installation(t)
			c.plant(t, &in)
			findings := doctor.Examine(t.Context(), in)
			for _, want := range c.want {
				if got := of(findings, c.part); !strings.Contains(got, want) {
					t.Errorf("%s: %q, want %q", c.part, got, want)
				}
			}
			if worst := doctor.Worst(findings); worst != doctor.Wrong {
				t.Errorf("at worst %s", worst)
			}
		})
	}
}

func write(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte("{}"), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestWhileTheEngineRestartsTheDoctorSaysSo has the database answer as the guard does without an engine.
func TestWhileTheEngineRestartsTheDoctorSaysSo(t *testing.T) {
	t.Parallel()
	cfg := guard.DefaultConfig()
	cfg.OwnerPassword, cfg.ReaderPassword = "a", "b"
	without, err := guard.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	address, err := without.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var serving errgroup.Group
	serving.Go(func() error { return without.Run(ctx) })
	t.Cleanup(func() {
		stop()
		if err := serving.Wait(); err != nil {
			t.Error(err)
		}
	})
	in := installation(t)
	in.Find = func() (system.Endpoint, error) { return system.Endpoint{ClickHouse: "http://owner:a@" + address}, nil }
	findings := doctor.Examine(t.Context(), in)
	if got := of(findings, "database"); !strings.HasPrefix(got, "wrong: the engine restarts just now: events wait in the stream") || !strings.Contains(got, "[wait some seconds") {
		t.Errorf("%q", got)
	}
}

func TestServersThatDoNotAnswerAreWrong(t *testing.T) {
	t.Parallel()
	in := installation(t)
	in.Find = func() (system.Endpoint, error) {
		return system.Endpoint{NATS: "nats://user:secret@127.0.0.1:1", ClickHouse: "http://user:secret@127.0.0.1:1", Version: "v1"}, nil
	}
	findings := doctor.Examine(t.Context(), in)
	for part, want := range map[string]string{"stream": "wrong: connect to NATS", "database": "wrong: connect to ClickHouse", "system": "wrong: it runs with version v1"} {
		if got := of(findings, part); !strings.HasPrefix(got, want) || strings.Contains(got, "secret") {
			t.Errorf("%s: %q, want %q", part, got, want)
		}
	}
}
