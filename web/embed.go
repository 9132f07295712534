// Package web holds the page: index.html and what it loads, as `make web` built them. A program that was built without
// has an empty page, and its server says so.
package web

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

// The folder has a file of its own, so that the program builds where the page was not.
//
//go:embed all:dist
var dist embed.FS

// Files are those of the page, index.html among them where it was built.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist/page")
	if err != nil { // the path is one
		return dist
	}
	return files
}

// Shared is the page of a comparison that is shared as a file: HTML that loads nothing, with a place for its answers.
func Shared() ([]byte, error) {
	page, err := dist.ReadFile("dist/shared/shared.html")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("this program was built without its page: `make web` builds the page, and `make build` the program with it")
	}
	if err != nil {
		return nil, fmt.Errorf("read the page: %w", err)
	}
	return page, nil
}
