package rules

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
)

var update = flag.Bool("update", false, "write the version of the rules into version.go") //nolint:gochecknoglobals // a flag of the test binary

// deciding are the folders whose code pairs tensors, judges them, counts the verdicts, and finds where a difference began,
// and what compare adds: its settings, which judge a tensor without partner, too, and the tolerances that other runs measure.
func deciding() []string {
	return []string{"../judge", "../origin", "../pair", "../pair/align", "../pair/merge", "../result", "../compare/settings.go", "../compare/calibrate.go", "../compare/spread.go"}
}

func TestVersionIsThatOfTheRules(t *testing.T) {
	t.Parallel()
	want := hashOf(t, deciding())
	if *update {
		write(t, want)
		return
	}
	if Version != want {
		t.Errorf("the rules changed: their version is 0x%016x, that in version.go is 0x%016x; go test ./analysis/rules -update writes it.\n"+
			"Comparisons that were judged by the rules before will be judged again", want, Version)
	}
}

func TestCommentsAreNoRules(t *testing.T) {
	t.Parallel()
	const plain, other = "package a\n\nfunc f() int { return 1 }\n", "package a\n\nfunc f() int { return 2 }\n"
	const commented = "// Package a says more.\npackage a\n\n// f is new.\nfunc f() int {\n\treturn 1 // as before\n}\n"
	if codeOf(t, plain) != codeOf(t, commented) {
		t.Error("a comment makes other rules")
	}
	if codeOf(t, plain) == codeOf(t, other) {
		t.Error("another number makes the same rules")
	}
}

// hashOf is over the code of all files of the folders that are no tests, by name.
func hashOf(t *testing.T, folders []string) uint64 {
	t.Helper()
	var all []byte
	for _, folder := range folders {
		pattern := folder
		if filepath.Ext(folder) == "" {
			pattern = filepath.Join(folder, "*.go")
		}
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no rules: %v", folder, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			content, err := os.ReadFile(file) //nolint:gosec // of this repository
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{filepath.ToSlash(file), codeOf(t, string(content))} {
				all = append(binary.LittleEndian.AppendUint64(all, uint64(len(text))), text...)
			}
		}
	}
	return xxh3.Hash(all)
}

// codeOf is a file without its comments, in one form: word by word.
func codeOf(t *testing.T, content string) string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", content, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var code bytes.Buffer
	if err := (&printer.Config{Mode: printer.RawFormat}).Fprint(&code, set, file); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(code.String()), " ")
}

func write(t *testing.T, version uint64) {
	t.Helper()
	const file, start = "version.go", "const Version uint64 = "
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(content), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, start) })
	if at < 0 {
		t.Fatalf("%s does not declare the version", file)
	}
	lines[at] = start + fmt.Sprintf("0x%016x", version)
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
}
