// Package marked replaces the part of a document that a program writes: what is between <!-- NAME --> and <!-- end of NAME -->.
package marked

import (
	"fmt"
	"os"
	"strings"
)

// Part is what the document has there.
func Part(document, name string) (string, error) {
	_, part, _, err := cut(document, name)
	return part, err
}

// Replace is the document with another part there.
func Replace(document, name, part string) (string, error) {
	before, _, after, err := cut(document, name)
	return before + part + after, err
}

// Write replaces the part in a file.
func Write(path, name, part string) error {
	text, err := os.ReadFile(path) //nolint:gosec // named by who runs this
	if err != nil {
		return err
	}
	document, err := Replace(string(text), name, part)
	if err != nil {
		return fmt.Errorf("write into %s: %w", path, err)
	}
	return os.WriteFile(path, []byte(document), 0o600)
}

func cut(document, name string) (before, part, after string, err error) {
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	from, rest, begins := strings.Cut(document, begin)
	part, to, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return document, "", "", fmt.Errorf("the document lacks the marks %q and %q", begin, end)
	}
	return from + begin, part, end + to, nil
}
