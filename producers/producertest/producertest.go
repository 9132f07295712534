// Package producertest holds what every producer of files promises, for their tests: the same files give the same messages
// under the same ids, damage costs what is damaged and ends nothing, and memory has a limit.
package producertest

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/schemas"
)

const (
	cutEvery  = 100 // bytes
	mostCuts  = 200 // of a file
	changes   = 50  // of random bytes
	mostFiles = 20  // that are damaged
)

// trial is a tool and good files of it.
type trial struct {
	*testing.T
	tool producers.Tool
	path string
}

// Exercise tests the tool with the good files at a path, which it only reads.
func Exercise(t *testing.T, tool producers.Tool, path string) {
	t.Helper()
	for name, test := range map[string]func(trial){
		"the same again":          trial.isTheSameAgain,
		"under its claim":         trial.carriesItsClaim,
		"cut anywhere":            trial.survivesCuts,
		"random bytes":            trial.survivesChanges,
		"an empty file":           trial.survivesEmptyFiles,
		"no file":                 trial.namesWhatIsMissing,
		"a file not readable":     trial.namesWhatCannotBeRead,
		"stopped by its caller":   trial.stops,
		"shorter than when found": trial.survivesShortening,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(trial{t, tool, path})
		})
	}
}

// isTheSameAgain: whoever publishes files again, from any folder, makes messages of the same ids and bytes.
func (t trial) isTheSameAgain() {
	first := t.mustRead(t.path)
	if len(first) == 0 {
		t.Fatalf("%s has no rows", t.path)
	}
	t.wantEqual(t.mustRead(t.path), first)
	t.wantEqual(t.mustRead(t.copied()), first)
}

// carriesItsClaim: messages have the epoch that the stream gave, and a second reading is as the first.
func (t trial) carriesItsClaim() {
	for _, dump := range t.mustFind(t.path).Dumps {
		source, err := dump.Open("r", func(int64) {})
		if err != nil {
			t.Fatal(err)
		}
		source.Content.Reissue(77, 3, 1e18)
		first, err := t.messages(source)
		if err != nil {
			t.Fatal(err)
		}
		again, err := t.messages(source)
		if err != nil {
			t.Fatal(err)
		}
		t.wantEqual(again, first)
		for _, m := range first {
			if id := m.Header.Identity; id.Epoch != 77 || id.Rank != dump.Rank || id.RunID != schemas.RunID("r") {
				t.Fatalf("%s has identity %v, want epoch 77 of rank %d", m.Header.Kind, id, dump.Rank)
			}
		}
	}
}

func (t trial) survivesCuts() {
	t.damage(func(content []byte, try func([]byte)) {
		step := max(cutEvery, (len(content)/mostCuts+cutEvery-1)/cutEvery*cutEvery)
		for at := 0; at < len(content); at += step {
			try(content[:at])
		}
		try(content[:len(content)-1])
	})
}

func (t trial) survivesChanges() {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	t.damage(func(content []byte, try func([]byte)) {
		for range changes {
			changed := bytes.Clone(content)
			for range 1 + random.IntN(4) {
				changed[random.IntN(len(changed))] = byte(random.IntN(256))
			}
			try(changed)
		}
	})
}

func (t trial) survivesEmptyFiles() {
	t.damage(func(_ []byte, try func([]byte)) { try(nil) })
}

// damage has other content in the place of each file's, one after the other.
func (t trial) damage(each func(content []byte, try func([]byte))) {
	path := t.copied()
	for _, file := range t.files(path) {
		content, err := os.ReadFile(file) //nolint:gosec // of this test
		if err != nil {
			t.Fatal(err)
		}
		if len(content) == 0 {
			continue
		}
		each(content, func(damaged []byte) {
			t.write(file, damaged)
			t.survives(path)
		})
		t.write(file, content)
	}
}

// survives reads what may be damaged. What is handed over is whole; an error names the place.
func (t trial) survives(path string) {
	messages, problems, err := t.read(path)
	if err != nil && !strings.Contains(err.Error(), path) {
		t.Errorf("the error does not name %s: %v", path, err)
	}
	for _, problem := range problems.First {
		if problem == "" || len(problem) > 4096 {
			t.Errorf("a problem of %d bytes", len(problem))
		}
	}
	if problems.Count < len(problems.First) {
		t.Errorf("%d problems are counted, %d are told", problems.Count, len(problems.First))
	}
	t.wantWhole(messages)
}

// wantWhole fails the test unless the rows can be read and the batches have no gaps.
func (t trial) wantWhole(messages []schemas.Message) {
	type batches struct {
		kind string
		id   schemas.Identity
	}
	next := map[batches]uint64{}
	for _, m := range messages {
		record, err := m.Record()
		if err != nil {
			t.Errorf("a message of %s: %v", m.Header.Kind, err)
			continue
		}
		record.Release()
		of := batches{m.Header.Kind, m.Header.Identity}
		of.id.Batch = 0
		if m.Header.Identity.Batch != next[of] || m.Header.Rows == 0 {
			t.Errorf("%s has batch %d with %d rows, want batch %d", m.Header.Kind, m.Header.Identity.Batch, m.Header.Rows, next[of])
		}
		next[of]++
	}
}

func (t trial) namesWhatIsMissing() {
	path := filepath.Join(t.TempDir(), "none")
	if _, err := t.tool.Find(path); err == nil || !strings.Contains(err.Error(), path) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a path where nothing is: %v", err)
	}
}

// namesWhatCannotBeRead: folders in the place of files; nobody but root is also refused by rights.
func (t trial) namesWhatCannotBeRead() {
	path := t.copied()
	for _, file := range t.files(path) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(file, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if messages, problems, err := t.read(path); err == nil && problems.Count == 0 {
		t.Errorf("nobody says that folders are in the place of files: %d messages", len(messages))
	} else if err != nil && !strings.Contains(err.Error(), path) {
		t.Errorf("the error does not name %s: %v", path, err)
	}
}

func (t trial) stops() {
	for _, dump := range t.mustFind(t.path).Dumps {
		source, err := dump.Open("r", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range source.Content.Batches(t.Context()) {
			if err != nil {
				t.Error(err)
			}
			break
		}
	}
}

// survivesShortening: a file that was found is truncated before it is read. Who has read it as it was found has it whole.
func (t trial) survivesShortening() {
	path := t.copied()
	whole, found := t.mustFind(t.path), t.mustFind(path)
	for _, file := range t.files(path) {
		if err := os.Truncate(file, 1); err != nil && !errors.Is(err, fs.ErrPermission) {
			t.Fatal(err)
		}
	}
	for i, dump := range found.Dumps {
		got, problems, err := t.readDump(dump)
		if err != nil || problems.Count > 0 {
			continue
		}
		if want, _, _ := t.readDump(whole.Dumps[i]); !slices.EqualFunc(got, want, areSame) {
			t.Errorf("nobody says that %s is shorter than it was found", dump.Dir)
		}
	}
}
