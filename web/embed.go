// Package web holds the page: index.html and what it loads, as `make web` built them. A program that was built without
// has an empty page, and its server says so.
package web

import (
	"embed"
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
