package scene

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// filesOfSymptoms are the files that docs/symptoms.md names, and where the tests have such.
func filesOfSymptoms() map[string]string {
	return map[string]string{
		"nan_debug.pt":   "../../producers/tensorfiles/testdata/saved/nan_debug.pt",
		"traces":         "../../producers/flightrecorder/testdata/pickle",
		"snapshots":      "../../producers/memorysnapshot/testdata/leak",
		"server.log":     "../../producers/logfiles/testdata/sglang_server.log",
		"crash_dump.pkl": "../../producers/requests/testdata/crash_dump_2026-11-21_10-03-50.pkl",
		"session.jsonl":  "../../producers/kernelcalls/testdata/session.jsonl",
		"shapes.jsonl":   "../../producers/sglangshapes/testdata/sglang_shapes.jsonl",
	}
}

// requireSymptomsShown runs the commands of docs/symptoms.md, those that publish first, on a store with a good and a bad run.
func requireSymptomsShown(t *testing.T, u *program.Up) {
	t.Helper()
	u.Dir = t.TempDir()
	for name, from := range filesOfSymptoms() {
		if err := copyAny(from, filepath.Join(u.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	commands := commandsOf(t, "symptoms.md")
	slices.SortStableFunc(commands, func(a, b []string) int { return strings.Compare(order(a), order(b)) })
	for _, command := range commands {
		if command[0] == "replay-requests" { // which another test runs, with servers
			continue
		}
		if command[0] == "run" { // the program of the document is the one above
			end := slices.Index(command, "--")
			command = append(slices.Clone(command[:end]), "--", "true")
			command[slices.Index(command, "bad")] = "other"
		}
		if out := program.Run(t, u.Setting, command...); out.Status != program.ExitSame && out.Status != program.ExitDiffers {
			t.Errorf("docs/symptoms.md shows tensortap %q: %v", command, out)
		}
		if command[0] == "publish" {
			u.Settle(t)
		}
	}
}

// order has what publishes before what asks.
func order(command []string) string {
	if command[0] == "publish" {
		return ""
	}
	return "later"
}

// copyAny copies a file or a folder.
func copyAny(from, to string) error {
	if info, err := os.Stat(from); err != nil || info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	content, err := os.ReadFile(from) //nolint:gosec // of this repository
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}
