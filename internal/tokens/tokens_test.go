package tokens_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/tokens"
)

// clock is what a test says.
type clock struct{ now time.Time }

func (c *clock) read() time.Time { return c.now }

func newToken(t *testing.T, path string, role tokens.Role, name string) string {
	t.Helper()
	token, err := tokens.New(path, tokens.Bearer{Role: role, Name: name}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestATokenIsKnownByItsDigestAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens")
	reader, operator := newToken(t, path, tokens.Reader, "ci"), newToken(t, path, tokens.Operator, "anna")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o444 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, token := range []string{reader, operator} {
		if strings.Contains(string(text), token) || len(token) < 50 {
			t.Errorf("token of %d characters; the file:\n%s", len(token), text)
		}
	}
	file, err := tokens.Open(path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string]tokens.Bearer{reader: {Role: tokens.Reader, Name: "ci"}, operator: {Role: tokens.Operator, Name: "anna"}} {
		if got, err := file.Bearer(token); err != nil || got != want {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
	for _, token := range []string{"", "tensortap_", reader[1:], reader + "A", strings.Fields(string(text))[3]} {
		if got, err := file.Bearer(token); !errors.Is(err, tokens.ErrUnknown) {
			t.Errorf("%q is that of %+v, %v", token, got, err)
		}
	}
}

func TestTokensThatAreAddedAndRemovedCount(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens")
	first := newToken(t, path, tokens.Reader, "first")
	c := clock{time.Now()}
	file, err := tokens.Open(path, c.read)
	if err != nil {
		t.Fatal(err)
	}
	second := newToken(t, path, tokens.Reader, "second")
	c.now = c.now.Add(time.Second)
	if _, err := file.Bearer(second); err != nil {
		t.Errorf("a token that was added: %v", err)
	}
	for want, text := range map[string]string{"no such token": "# none any more\n", ":1: want ROLE NAME": "half a line"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.now = c.now.Add(time.Second)
		for _, token := range []string{first, second} {
			if _, err := file.Bearer(token); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a token that was removed: %v, want %q", err, want)
			}
		}
	}
}

func TestFilesThatAreNoneOfTokensAreRefused(t *testing.T) {
	t.Parallel()
	digest := strings.Repeat("0", 64)
	for want, text := range map[string]string{
		"holds no token":       "\n# nothing\n",
		":1: want ROLE NAME":   "reader ci\n",
		":2: role \"root\"":    "\nroot ci 2026-01-01T00:00:00Z " + digest,
		":1: want a digest":    "reader ci 2026-01-01T00:00:00Z " + digest[1:],
		":1: name \"<b>\"":     "reader <b> 2026-01-01T00:00:00Z " + digest,
		"token too long":       "reader " + strings.Repeat("x", 70_000),
		"no such file":         "",
		"others can write":     "reader ci 2026-01-01T00:00:00Z " + digest,
		":1: name \"\\u202e\"": "reader \u202e 2026-01-01T00:00:00Z " + digest,
	} {
		path := filepath.Join(t.TempDir(), "tokens")
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want == "others can write" {
			if err := os.Chmod(path, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := tokens.Open(path, time.Now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
}

func TestNamesOfTokensAreOneWordEach(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens")
	newToken(t, path, tokens.Reader, "ci")
	for want, bearer := range map[string]tokens.Bearer{
		"want reader or operator": {Role: "owner", Name: "x"},
		"want 1 to 64":            {Role: tokens.Reader},
		"letters, digits":         {Role: tokens.Reader, Name: "a b"},
		"is named ci already":     {Role: tokens.Operator, Name: "ci"},
	} {
		if _, err := tokens.New(path, bearer, time.Now()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", bearer, err, want)
		}
	}
}
