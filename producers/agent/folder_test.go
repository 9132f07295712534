package agent_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// nobody is a user who is not this one.
const nobody = 65534

// givenAway makes the folder and all in it another user's.
func givenAway(tb testing.TB, folder string) {
	tb.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, nobody, nobody))
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// opened lets every user write in the folder.
func opened(tb testing.TB, folder string) {
	tb.Helper()
	if err := os.Chmod(folder, 0o777); err != nil {
		tb.Fatal(err)
	}
}

// linked puts the folder elsewhere, and a symbolic link in its place.
func linked(tb testing.TB, folder string) {
	tb.Helper()
	elsewhere := filepath.Join(tb.TempDir(), "elsewhere")
	if err := errors.Join(os.Rename(folder, elsewhere), os.Symlink(elsewhere, folder)); err != nil {
		tb.Fatal(err)
	}
}

// spoiling are the ways in which another user gets at a folder, by what the agent says of them.
func spoiling(tb testing.TB) map[string]func(testing.TB, string) {
	tb.Helper()
	ways := map[string]func(testing.TB, string){
		"may be written by other users (mode 0777)": opened,
		"is a symbolic link":                        linked,
	}
	if os.Geteuid() == 0 {
		ways["belongs to user 65534 and not to this one, 0"] = givenAway
	} else {
		tb.Log("only root can give files to a second user: links and modes are tried, and no other owner")
	}
	return ways
}

// trapped is a spool whose files of the agent are links to a file, and that file.
func trapped(tb testing.TB, root string) (victim string) {
	tb.Helper()
	s := testbed.NewSpool(tb, root, testbed.SpoolOptions{Run: "forged", Epoch: 1})
	s.Step(0, 3)
	s.Close()
	victim = filepath.Join(tb.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		tb.Fatal(err)
	}
	for _, name := range []string{"cuts", "cuts-other", "position"} {
		file := filepath.Join(s.Dir, name)
		if err := errors.Join(os.Remove(file), os.Symlink(victim, file)); err != nil {
			tb.Fatal(err)
		}
	}
	return victim
}

func untouched(tb testing.TB, victim string) {
	tb.Helper()
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		tb.Errorf("the file behind the link holds %q, error %v", text, err)
	}
}

func TestARootThatAnotherUserCanWriteIsRefused(t *testing.T) {
	t.Parallel()
	for fault, spoil := range spoiling(t) {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			root, l := filepath.Join(t.TempDir(), "tensortap-1000"), newLog(t)
			victim := trapped(t, root)
			spoil(t, root)
			err := agent.New(config(t, root, l)).Run(t.Context())
			refused, ok := errors.AsType[*agent.RootError](err)
			if !ok || refused.Root != root {
				t.Fatalf("Run = %v, want a RootError of %s", err, root)
			}
			for _, part := range []string{root, fault, "remove it", "--spool or TENSORTAP_SPOOL"} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("Run = %v, which does not say %q", err, part)
				}
			}
			if _, err := agent.Unpublished(root+"/", "forged"); err == nil {
				t.Error("Unpublished reads that root")
			}
			untouched(t, victim)
			if n := len(rows[schemas.RunRow](l)); n != 0 {
				t.Errorf("%d runs are published from there", n)
			}
		})
	}
}

func TestARootThatSpoilsLaterIsToldAndLeftAlone(t *testing.T) {
	t.Parallel()
	root, l, told := t.TempDir(), newLog(t), &tellings{}
	testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "good", Epoch: 2})
	cfg := config(t, root, l)
	cfg.Tell = told.add
	serveUntil(t, cfg, func() bool {
		if told.count("serving run good") > 0 {
			opened(t, root)
		}
		return told.count("may be written by other users") > 0
	})
}

// tellings are the lines that an agent said.
type tellings struct {
	mutex sync.Mutex
	lines []string
}

func (t *tellings) add(text string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.lines = append(t.lines, text)
}

func (t *tellings) count(part string) int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	count := 0
	for _, line := range t.lines {
		if strings.Contains(line, part) {
			count++
		}
	}
	return count
}

func TestAFolderThatAnotherUserCanWriteIsToldOnceAndItsNeighbourIsServed(t *testing.T) {
	t.Parallel()
	for fault, spoil := range spoiling(t) {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			root, l, told := t.TempDir(), newLog(t), &tellings{}
			victim := trapped(t, root)
			spoil(t, filepath.Join(root, fmt.Sprintf("%d-%016x", os.Getpid(), 1)))
			good := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "good", Epoch: 2})
			good.Step(0, 3)
			good.Close()
			cfg := config(t, root, l)
			cfg.Tell = told.add
			a := agent.New(cfg)
			runUntil(t, a, func() bool { // which tries several times
				return a.Counts().Failures.Load() >= 3 && told.count("run good, rank 0") >= 2
			})
			if n := told.count(fault); n != 1 {
				t.Errorf("the fault is told %d times, want once: %q", n, told.lines)
			}
			untouched(t, victim)
			if runs := rows[schemas.RunRow](l); len(runs) != 1 || runs[0].Name != "good" {
				t.Errorf("published are %+v, want the good run alone", runs)
			}
		})
	}
}

func TestALinkInAFolderOfThisUserIsNotFollowed(t *testing.T) {
	t.Parallel()
	root, l, told := t.TempDir(), newLog(t), &tellings{}
	victim := trapped(t, root)
	cfg := config(t, root, l)
	cfg.Tell = told.add
	serveUntil(t, cfg, func() bool { return told.count("cuts is no regular file") > 0 })
	untouched(t, victim)
}
