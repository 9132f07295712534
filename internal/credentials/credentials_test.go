package credentials_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/tensortap/tensortap/internal/credentials"
)

func TestCredentialsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "secrets")
	request := credentials.Request{Folder: folder, Database: "db:8123"}
	first, err := credentials.Make(request)
	must(t, err)
	if len(first) != len(credentials.Roles())+7 {
		t.Errorf("%d files: %v", len(first), first)
	}
	if again, err := credentials.Make(request); len(again) > 0 || err != nil {
		t.Errorf("made again: %v, %v", again, err)
	}
	request.Runs = []string{"a # run\u00e9 } b", "line\nbreak \u0085 \u2028 \\"}
	more, err := credentials.Make(request)
	must(t, err)
	if len(more) != 3 || !slices.Contains(more, "users.conf") {
		t.Errorf("with two runs: %v", more)
	}
	if _, err := server.ProcessConfigFile(filepath.Join(folder, "users.conf")); err != nil {
		t.Error(err)
	}
	info, err := os.Stat(folder)
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, want 0700", info.Mode())
	}
}

func TestBadCredentialsAreNamed(t *testing.T) {
	t.Parallel()
	pair, err := nkeys.CreateUser()
	must(t, err)
	seed, err := pair.Seed()
	must(t, err)
	for name, c := range map[string]struct{ file, text, want string }{
		"no seed":        {"judge.nk", "nothing\n", "holds no seed: remove it"},
		"half a seed":    {"judge.nk", string(seed[:20]) + "\n", "holds no seed: remove it"},
		"no role":        {"king.nk", string(seed), "is the key of no role"},
		"a nameless run": {"producer-0123456789abcdef.nk", "# run \"x\"\n" + string(seed), "does not name its run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			must(t, os.WriteFile(filepath.Join(folder, c.file), []byte(c.text), 0o600))
			if _, err := credentials.Make(credentials.Request{Folder: folder, Database: "db:8123"}); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), string(seed[:20])) {
				t.Errorf("%v, want %q and no seed", err, c.want)
			}
		})
	}
	_, err = credentials.Make(credentials.Request{Folder: t.TempDir(), Runs: []string{""}})
	if err == nil || !strings.Contains(err.Error(), `run ""`) {
		t.Errorf("a run without a name: %v", err)
	}
}
