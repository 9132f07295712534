package api

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Limits of the answers that are kept.
const (
	keptBytes   = 64 << 20 // compressed
	longestKept = 64 << 20 // bytes of an answer, as it was written
)

// memory has the latest answers by their tags, compressed. Who asks again, from another browser or after a look at something
// else, need not wait for the same work.
type memory struct {
	most int

	mu      sync.Mutex
	answers map[string]keptAnswer
	order   []string // the one that was asked for last is the last
	size    int
}

type keptAnswer struct {
	header http.Header
	packed []byte
}

func newMemory(most int) *memory { return &memory{most: most, answers: map[string]keptAnswer{}} }

// recording remembers an answer while it is written.
type recording struct {
	http.ResponseWriter
	body bytes.Buffer
	over bool // it is none to keep
}

// WriteHeader implements http.ResponseWriter.
func (r *recording) WriteHeader(status int) {
	r.over = r.over || status != http.StatusOK
	r.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (r *recording) Write(p []byte) (int, error) {
	if r.over = r.over || r.Header().Get("ETag") == "" || r.body.Len()+len(p) > longestKept; !r.over {
		r.body.Write(p)
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (r *recording) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// keep keeps an answer that was written whole.
func (k *memory) keep(r *recording) {
	tag := r.Header().Get("ETag")
	if r.over || tag == "" || r.body.Len() == 0 {
		return
	}
	answer := keptAnswer{header: http.Header{}, packed: packed(r.body.Bytes())}
	for _, name := range []string{"Content-Type", "Content-Disposition", "Cache-Control", "Etag", "Tensortap-Incomplete", "Vary"} {
		if values := r.Header()[name]; len(values) > 0 {
			answer.header[name] = slices.Clone(values)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(tag)
	k.answers[tag], k.order = answer, append(k.order, tag)
	for k.size += len(answer.packed); k.size > k.most; {
		k.forget(k.order[0])
	}
}

func (k *memory) forget(tag string) {
	if at := slices.Index(k.order, tag); at >= 0 {
		k.size -= len(k.answers[tag].packed)
		delete(k.answers, tag)
		k.order = slices.Delete(k.order, at, at+1)
	}
}

// write answers by what is kept, if it is.
func (k *memory) write(w http.ResponseWriter, r *http.Request, tag string) bool {
	answer, known := k.take(tag)
	if !known {
		return false
	}
	if again, is := w.(*recording); is {
		again.over = true
	}
	maps.Copy(w.Header(), answer.header)
	var body io.Reader = bytes.NewReader(answer.packed)
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
	} else if plain, err := gzip.NewReader(body); err == nil { // we packed it
		body = plain
	}
	_, _ = io.Copy(w, body) // whoever asked may be gone
	return true
}

// take is an answer that is kept, which is the last to be forgotten from now on.
func (k *memory) take(tag string) (keptAnswer, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	answer, known := k.answers[tag]
	if at := slices.Index(k.order, tag); known && at >= 0 {
		k.order = append(slices.Delete(k.order, at, at+1), tag)
	}
	return answer, known
}

func packed(body []byte) []byte {
	var to bytes.Buffer
	w, _ := gzip.NewWriterLevel(&to, gzip.BestSpeed) // a level that there is
	_, _ = w.Write(body)                             // to memory
	_ = w.Close()
	return to.Bytes()
}
