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
		{"compare bad good", "bad is the name of a run; for the folder of that name write ./bad; good is the name of a run; for the folder of that name write ./good; to compare stored runs: no system is running"},
		{"compare worse good", "worse is the name of a run; good is the name of a run; for the folder of that name write ./good; to compare stored runs: no system is running"},
		{"compare ./worse ./good", "no such folder: ./worse"},
		{"compare bad/ no/such", "no such folder: no/such"},
		{"compare ./bad good", "./bad is a folder, and good is the name of a run; for the folder of that name write ./good; to compare the folder with the run, publish the folder first"},
		{"overflow bad", "bad is the name of a run; for the folder of that name write ./bad"},
		{"compare team/bad team/good", "no such folder: team/bad, so it is the name of a run; no such folder: team/good, so it is the name of a run; to compare stored runs: no system is running"},
		{"overflow no/such", "no such folder: no/such, so it is the name of a run; to look at a stored run: no system is running"},
	} {
		if out := program.Run(t, s, strings.Fields(c.line)...); out.Status != program.ExitError || !strings.Contains(out.Stderr, c.want) {
			t.Errorf("%s: %v, want status 2 and %q", c.line, out, c.want)
		}
	}
}
