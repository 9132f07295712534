package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestEachPageIsInTheIndex finds each page of docs in its index, and each page that the index and the README name.
func TestEachPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	index := linked(t, filepath.Join(root, "docs", "README.md"))
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		if filepath.Base(page) != "README.md" && !slices.Contains(index, page) {
			t.Errorf("docs/README.md does not name %s", page)
		}
	}
	for _, page := range append(index, linked(t, filepath.Join(root, "README.md"))...) {
		if _, err := os.Stat(page); err != nil {
			t.Error(err)
		}
	}
}

// linked are the files that a page links to.
func linked(t *testing.T, page string) (files []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range regexp.MustCompile(`\]\(([^):]+)\)`).FindAllStringSubmatch(string(text), -1) {
		files = append(files, filepath.Join(filepath.Dir(page), link[1]))
	}
	return files
}
