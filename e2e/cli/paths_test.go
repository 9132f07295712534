package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

func TestAFolderIsWrittenWithASlash(t *testing.T) {
	t.Parallel()
	s := program.Setting{Dir: t.TempDir()}
	for _, name := range []string{"bad", "good"} {
		if err := os.Mkdir(filepath.Join(s.Dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ line, want string }{
		{"compare bad good", "bad and good are names of runs; for the folder of that name write ./bad; to compare stored runs: no system is running"},
		{"compare worse good", "worse and good are names of runs; to compare stored runs: no system is running"},
		{"compare ./worse ./good", "no such folder: ./worse"},
		{"compare bad/ no/such", "no such folder: no/such"},
		{"compare ./bad good", "./bad is a folder and another side a stored run: publish it first"},
		{"overflow bad", "bad is the name of a run; for the folder of that name write ./bad"},
		{"overflow no/such", "no such folder: no/such"},
	} {
		if out := program.Run(t, s, strings.Fields(c.line)...); out.Status != program.ExitError || !strings.Contains(out.Stderr, c.want) {
			t.Errorf("%s: %v, want status 2 and %q", c.line, out, c.want)
		}
	}
}
