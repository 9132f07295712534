package api

import (
	"bytes"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

// indexName is the page; what else it needs, it loads.
const indexName = "index.html"

// notBuilt says how the page comes into the program.
const notBuilt = "This program was built without its page: `make web` builds the page, and `make build` the program with it. The API is at " + root + ", its description at " + root + "/openapi.json.\n"

// page serves the files of the page. A path that names none of them is one of the page's own: the page is at each of them.
func (a *API) page() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", http.MethodGet)
			writeProblem(w, &problemError{Status: http.StatusMethodNotAllowed, Sentence: "the page is read alone: GET it"})
			return
		}
		name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
		if a.serveFile(w, r, name) {
			return
		}
		if path.Ext(name) != "" && strings.HasPrefix(name, assets) {
			http.Error(w, "the page has no such file", http.StatusNotFound)
			return
		}
		if !a.serveFile(w, r, indexName) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(notBuilt)) // whoever asked may be gone
		}
	})
}

// assets is the folder of files whose names change with their content.
const assets = "assets/"

// serveFile says whether there is such a file.
func (a *API) serveFile(w http.ResponseWriter, r *http.Request, name string) bool {
	if a.cfg.Page == nil || !fs.ValidPath(name) || strings.HasPrefix(path.Base(name), ".") {
		return false
	}
	content, err := fs.ReadFile(a.cfg.Page, name)
	if err != nil {
		return false
	}
	w.Header().Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, assets) {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	return true
}
