package page

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// chunk is a file of the page as its manifest has it.
type chunk struct {
	File    string
	CSS     []string
	Imports []string
	IsEntry bool
}

func TestTheFirstViewIsLight(t *testing.T) {
	t.Parallel()
	needed(t)
	const most = 300_000 // bytes, compressed
	built := filepath.Join(web, "dist", "page")
	text, err := os.ReadFile(filepath.Join(built, ".vite", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest map[string]chunk
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{"index.html": true}
	for name, c := range manifest {
		if c.IsEntry {
			load(manifest, name, files)
		}
	}
	if len(files) < 3 {
		t.Fatalf("the first view loads %v: want a script and a style at least", files)
	}
	size := 0
	for file := range files {
		size += compressed(t, filepath.Join(built, file))
	}
	if t.Logf("the first view has %d bytes, compressed", size); size > most {
		t.Errorf("the first view has %d bytes, compressed: want %d at most", size, most)
	}
}

// load adds the files that a part of the page needs at once.
func load(manifest map[string]chunk, name string, files map[string]bool) {
	c := manifest[name]
	if files[c.File] {
		return
	}
	files[c.File] = true
	for _, style := range c.CSS {
		files[style] = true
	}
	for _, part := range c.Imports {
		load(manifest, part, files)
	}
}

func compressed(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var to bytes.Buffer
	w := gzip.NewWriter(&to)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return to.Len()
}
