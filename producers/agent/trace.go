package agent

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/tensortap/tensortap/schemas"
)

// Kinds of requests for a file.
const (
	DoTrace   = "trace"   // the stacks of all threads, many times a second
	DoProfile = "profile" // torch.profiler, for some steps
)

// States of their answers.
const (
	StateTracing = "tracing" // since FromStep, where steps are meant; the File is not there yet
	StateTraced  = "traced"  // the File is there, and whole
)

// mostContent is the size up to which a packed file is sent with the answer: a message has 8 MiB at most, and is text.
const mostContent = 4 << 20

// mostTraced is the size up to which a file is packed at all.
const mostTraced = 256 << 20

// traceText completes the text of a request for a trace.
func (r *Request) traceText(asked map[string]any, folder string) {
	switch r.Do {
	case DoTrace:
		asked["folder"], asked["seconds"], asked["rate"] = folder, r.Seconds, r.Rate
	case DoProfile:
		asked["folder"], asked["steps"] = folder, r.Steps
	}
}

// folderFor is the folder below which the process keeps what is asked for: raw tensors, or beside these, by runs, traces.
func (s *served) folderFor(r *Request) string {
	if r.Do != DoTrace && r.Do != DoProfile {
		return s.cfg.Payloads
	}
	return filepath.Join(filepath.Dir(s.cfg.Payloads), "traces", schemas.FormatID(r.RunID))
}

// traced says whether the file of a trace is there that the process is at.
func (s *served) traced(r *Request, answer *Answer) {
	if answer.State != StateTracing {
		return
	}
	answer.File = filepath.Join(s.folderFor(r), s.name, fmt.Sprintf("%s-%d.json", r.Do, r.Sequence))
	info, err := os.Lstat(answer.File)
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	answer.State = StateTraced
}

// packed is the content of a file, to be read with gzip; nil where it is too large, or cannot be read.
func packed(path string) []byte {
	file, err := os.Open(path) //nolint:gosec // below the folder of payloads
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // only read
	text := bounded{left: mostContent}
	pack := gzip.NewWriter(&text)
	read, err := io.Copy(pack, io.LimitReader(file, mostTraced+1))
	if err != nil || pack.Close() != nil || read > mostTraced {
		return nil
	}
	return text.Bytes()
}

// bounded is a buffer that takes so many bytes, and no more.
type bounded struct {
	bytes.Buffer
	left int
}

// Write implements io.Writer.
func (b *bounded) Write(text []byte) (int, error) {
	if b.left -= len(text); b.left < 0 {
		return 0, errTooLarge
	}
	return b.Buffer.Write(text)
}

var errTooLarge = errors.New("more than an answer takes")
