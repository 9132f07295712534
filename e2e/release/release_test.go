// Package release tests what `make release` built, as its users install it. Nothing else builds a release, so without TENSORTAP_RELEASE these
// tests are skipped, and say so.
package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// processors are Go's names for them, by the wheels'.
func processors() map[string]string { return map[string]string{"x86_64": "amd64", "aarch64": "arm64"} }

// folder has the files of the release.
func folder(tb testing.TB) string {
	tb.Helper()
	return given(tb, "TENSORTAP_RELEASE")
}

// given is a variable that make test-release sets.
func given(tb testing.TB, variable string) string {
	tb.Helper()
	value := os.Getenv(variable)
	if value == "" {
		tb.Skipf("SKIPPED: %s is not set; make test-release builds a release and runs this", variable)
	}
	return value
}

// theFile is the only file of the release that the pattern matches.
func theFile(tb testing.TB, pattern string) string {
	tb.Helper()
	found, err := filepath.Glob(filepath.Join(folder(tb), pattern))
	if err != nil || len(found) != 1 {
		tb.Fatalf("%s: found %q, %v, want one file", pattern, found, err)
	}
	return found[0]
}

func wheel(tb testing.TB, processor string) string {
	tb.Helper()
	return theFile(tb, "tensortap-*-py3-none-manylinux_2_17_"+processor+".whl")
}

func sdist(tb testing.TB) string {
	tb.Helper()
	found, err := filepath.Glob(filepath.Join(folder(tb), "tensortap-*.tar.gz"))
	found = slices.DeleteFunc(found, func(path string) bool { return strings.Contains(path, "-linux-") })
	if err != nil || len(found) != 1 {
		tb.Fatalf("found %q, %v, want one sdist", found, err)
	}
	return found[0]
}

func TestEveryFileHasItsChecksum(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, entry := range entries {
		if entry.Name() == "SHA256SUMS" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		fmt.Fprintf(&want, "%s  %s\n", hex.EncodeToString(sum[:]), entry.Name())
	}
	got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	lines := func(text string) []string { return slices.Sorted(strings.Lines(text)) }
	if !slices.Equal(lines(string(got)), lines(want.String())) {
		t.Errorf("SHA256SUMS is\n%swant\n%s", got, want.String())
	}
	if len(entries) != 7 {
		t.Errorf("the release has %d files: %v", len(entries), entries)
	}
}

// TestTheSdistHasAllThatItIsBuiltOf also holds for what must not be in it: a kernel of the machine that packed it.
func TestTheSdistHasAllThatItIsBuiltOf(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	unpack(t, sdist(t), func(name string, _ []byte) {
		_, inside, _ := strings.Cut(name, "/")
		names[inside] = true
		if strings.HasSuffix(name, ".so") {
			t.Errorf("the sdist has %s", name)
		}
	})
	for _, name := range []string{"csrc/loops.c", "csrc/layout.h", "boot/tensortap_boot.py", "boot/sitecustomize.py", "LICENSE", "README.md", "setup.py", "PKG-INFO"} {
		if !names[name] {
			t.Errorf("the sdist lacks %s", name)
		}
	}
}

func TestTheWheelsSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	for processor := range processors() {
		metadata, tags := inWheel(t, processor, "METADATA"), inWheel(t, processor, "WHEEL")
		for _, line := range []string{"License-Expression: Apache-2.0\n", "Project-URL: Source, https://", "Description-Content-Type: text/markdown\n", "Requires-Dist: torch>=2.4\n"} {
			if !strings.Contains(string(metadata), line) {
				t.Errorf("METADATA for %s lacks %q", processor, line)
			}
		}
		if want := "Tag: py3-none-manylinux_2_17_" + processor + "\n"; !strings.Contains(string(tags), want) {
			t.Errorf("WHEEL is\n%swant %s", tags, want)
		}
		if len(inWheel(t, processor, "LICENSE")) == 0 {
			t.Errorf("the wheel for %s has no licence", processor)
		}
	}
}

// inWheel is the only file of that name.
func inWheel(tb testing.TB, processor, name string) []byte {
	tb.Helper()
	archive, err := zip.OpenReader(wheel(tb, processor))
	if err != nil {
		tb.Fatal(err)
	}
	defer archive.Close() //nolint:errcheck // only read
	at := slices.IndexFunc(archive.File, func(f *zip.File) bool { return filepath.Base(f.Name) == name })
	if at < 0 {
		tb.Fatalf("the wheel for %s has no %s", processor, name)
	}
	file, err := archive.File[at].Open()
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		tb.Fatal(err)
	}
	return text
}

// unpack visits the files of an archive.
func unpack(tb testing.TB, path string, visit func(name string, content []byte)) {
	tb.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // of the release
	if err != nil {
		tb.Fatal(err)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		tb.Fatal(err)
	}
	for members := tar.NewReader(unzipped); ; {
		header, err := members.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			tb.Fatal(err)
		}
		content, err := io.ReadAll(members)
		if err != nil {
			tb.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			visit(header.Name, content)
		}
	}
}
