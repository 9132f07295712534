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
	answersBytes  = 64 << 20 // compressed
	longestAnswer = 32 << 20 // bytes of one as it was written
)

// answers has the latest answers by their tags, compressed. Who asks again, from another browser or after a look at something
// else, need not wait for the same work.
type answers struct {
	most int

	mu    sync.Mutex
	byTag map[string]packedAnswer
	order []string // the one that was asked for last is the last
	size  int
}

type packedAnswer struct {
	header http.Header
	packed []byte
}

// size counts its tag, headers and places, too.
func (a packedAnswer) size() int { return len(a.packed) + 1<<10 }

func newAnswers(most int) *answers { return &answers{most: most, byTag: map[string]packedAnswer{}} }

// recording compresses an answer while it is written.
type recording struct {
	http.ResponseWriter
	written int
	packed  bytes.Buffer
	packing *gzip.Writer // nil before the first byte
	over    bool         // it is none to keep
}

// WriteHeader implements http.ResponseWriter.
func (r *recording) WriteHeader(status int) {
	r.over = r.over || status != http.StatusOK
	r.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (r *recording) Write(p []byte) (int, error) {
	r.written += len(p)
	if r.over = r.over || r.Header().Get("ETag") == "" || r.written > longestAnswer; r.over {
		r.packed, r.packing = bytes.Buffer{}, nil // its room is free at once
	} else {
		r.pack(p)
	}
	return r.ResponseWriter.Write(p)
}

func (r *recording) pack(p []byte) {
	if r.packing == nil {
		r.packing, _ = gzip.NewWriterLevel(&r.packed, gzip.BestSpeed) // a level that there is
	}
	_, _ = r.packing.Write(p) // to memory
}

// Unwrap is for http.ResponseController.
func (r *recording) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// keep keeps an answer that was written whole.
func (k *answers) keep(r *recording) {
	tag := r.Header().Get("ETag")
	if r.over || tag == "" || r.packing == nil {
		return
	}
	_ = r.packing.Close() // to memory
	answer := packedAnswer{header: http.Header{}, packed: r.packed.Bytes()}
	for _, name := range []string{"Content-Type", "Content-Disposition", "Cache-Control", "Etag", "Tensortap-Incomplete", "Vary"} {
		if values := r.Header()[name]; len(values) > 0 {
			answer.header[name] = slices.Clone(values)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forget(tag)
	k.byTag[tag], k.order = answer, append(k.order, tag)
	for k.size += answer.size(); k.size > k.most; {
		k.forget(k.order[0])
	}
}

func (k *answers) forget(tag string) {
	if at := slices.Index(k.order, tag); at >= 0 {
		k.size -= k.byTag[tag].size()
		delete(k.byTag, tag)
		k.order = slices.Delete(k.order, at, at+1)
	}
}

// write answers by what is kept, if it is.
func (k *answers) write(w http.ResponseWriter, r *http.Request, tag string) bool {
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

// has says whether an answer is kept.
func (k *answers) has(tag string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, known := k.byTag[tag]
	return known
}

// take is an answer that is kept, which is the last to be forgotten from now on.
func (k *answers) take(tag string) (packedAnswer, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	answer, known := k.byTag[tag]
	if at := slices.Index(k.order, tag); known && at >= 0 {
		k.order = append(slices.Delete(k.order, at, at+1), tag)
	}
	return answer, known
}
