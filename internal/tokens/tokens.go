// Package tokens says who may use the page and the HTTP API, and what for: a file with a line for each token, of which it
// holds a digest alone.
package tokens

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tensortap/tensortap/internal/durable"
)

// Role is what the bearer of a token may do.
type Role string

// The roles.
const (
	Reader   Role = "reader"   // asks
	Operator Role = "operator" // asks, and has living processes do something
)

// Roles are all of them.
func Roles() []string { return []string{string(Reader), string(Operator)} }

// Bearer is whom a token belongs to.
type Bearer struct {
	Role Role
	Name string
}

// mode lets containers read the file, as users of their own: no token can be told from its digest.
const mode = 0o444

// prefix makes a token known as one, to people and to programs that look for secrets in texts.
const prefix = "tensortap_"

// digestOf is what the file holds of a token. A token is random and long, so that a plain hash is enough.
func digestOf(token string) [sha256.Size]byte { return sha256.Sum256([]byte(token)) }

// New makes a token and adds its line to the file, which it makes where there is none. Nobody can be told the token again.
func New(path string, b Bearer, now time.Time) (token string, err error) {
	if err := b.check(); err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the tokens: %w", err)
	}
	known, err := parse(path, text)
	if err != nil {
		return "", err
	}
	for _, other := range known {
		if other.Name == b.Name {
			return "", fmt.Errorf("add a token to %s: one is named %s already; remove its line, or take another name", path, b.Name)
		}
	}
	token = prefix + rand.Text() + rand.Text()
	digest := digestOf(token)
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	text = fmt.Appendf(text, "%s %s %s %s\n", b.Role, b.Name, now.UTC().Format(time.RFC3339), hex.EncodeToString(digest[:]))
	err = durable.WriteFile(path, bytes.NewReader(text))
	if err == nil {
		err = os.Chmod(path, mode)
	}
	if err != nil {
		return "", fmt.Errorf("write the tokens: %w", err)
	}
	return token, nil
}

// longestName bounds the name of a token, which lines of audit show.
const longestName = 64

// check wants a name that is one word.
func (b Bearer) check() error {
	if !slices.Contains(Roles(), string(b.Role)) {
		return fmt.Errorf("role %q: want %s", b.Role, strings.Join(Roles(), " or "))
	}
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.@", r)
	}
	if b.Name == "" || len(b.Name) > longestName || strings.TrimFunc(b.Name, plain) != "" {
		return fmt.Errorf("name %.100q: want 1 to %d letters, digits or any of -_.@", b.Name, longestName)
	}
	return nil
}

// parse reads the lines of a file: role, name, time and digest. An empty line, and one that begins with #, is none.
func parse(path string, text []byte) (map[[sha256.Size]byte]Bearer, error) {
	known := map[[sha256.Size]byte]Bearer{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		words := strings.Fields(line)
		if len(words) != 4 {
			return nil, fmt.Errorf("%s:%d: want ROLE NAME TIME DIGEST, as tensortap token new writes it", path, number)
		}
		bearer := Bearer{Role(words[0]), words[1]}
		if err := bearer.check(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, number, err)
		}
		digest, err := hex.DecodeString(words[3])
		if err != nil || len(digest) != sha256.Size {
			return nil, fmt.Errorf("%s:%d: want a digest of %d hex digits behind the time", path, number, 2*sha256.Size)
		}
		known[[sha256.Size]byte(digest)] = bearer
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return known, nil
}
