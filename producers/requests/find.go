package requests

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/schemas"
)

// file is one that tells of requests.
type file struct {
	path      string
	size      int64
	modTimeNs int64
	engine    string
	rank      uint32 // schemas.NoRank but for a scheduler's snapshot
	options   Options
	tell      func(*source, []byte) ([]moment, error) // its content in moments; the error says what is lost
	snapshot  *snapshot
}

// MostBytes bounds a file: the pickle of a thousand requests takes a few megabytes, and the collector records no more in one.
const MostBytes = 512 << 20

// listFiles are the files at a path that tell of requests. What looks like one and cannot be read is a problem.
func listFiles(path string, options Options) (files []*file, problems producers.Problems, err error) {
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		f, err := recognise(name, options)
		switch {
		case errors.Is(err, errHostile) || err != nil && name == path:
			return err
		case err != nil:
			problems.Add(err.Error())
		case f != nil:
			files = append(files, f)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = ErrNoRequests
	}
	return files, problems, err
}

// recognise reads a file and says what it is; nil where it tells of no request.
func recognise(path string, options Options) (*file, error) {
	text, info, err := readFile(path)
	if err != nil {
		return nil, err
	}
	f := &file{path: path, size: info.Size(), rank: schemas.NoRank, options: options, engine: "sglang"}
	if f.modTimeNs, err = producers.FileTimeNs(info.ModTime()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := f.choose(text); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.tell == nil {
		return nil, nil //nolint:nilnil // it is none, and that is no error
	}
	return f, nil
}

// choose finds the reader of a content.
func (f *file) choose(text []byte) error {
	switch {
	case bytes.HasPrefix(text, []byte{protocolMark}):
		moments, err := f.pickled(text)
		if errors.Is(err, errHostile) {
			return err
		}
		if len(moments) > 0 || filepath.Ext(f.path) == ".pkl" {
			f.tell = func(_ *source, text []byte) ([]moment, error) { return f.pickled(text) }
		}
	case bytes.HasPrefix(text, []byte(signOfServer)):
		f.engine = ""
		f.tell = func(s *source, text []byte) ([]moment, error) { return f.served(s, text), nil }
	case isSnapshot(text):
		f.snapshot = readSnapshot(text)
		f.rank = f.snapshot.rank()
		f.tell = func(*source, []byte) ([]moment, error) { return nil, nil }
	case hasLines(text):
		f.tell = func(s *source, text []byte) ([]moment, error) { return f.lined(s, text), nil }
		if !bytes.Contains(text, []byte(`"`)) || bytes.Contains(text, []byte(signOfVLLM)) {
			f.engine = "vllm"
		}
	}
	return nil
}

func readFile(path string) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > MostBytes {
		err = fmt.Errorf("%s: it has %d bytes, limit %d", path, info.Size(), MostBytes)
	}
	if err != nil {
		return nil, nil, err
	}
	text, err := os.ReadFile(path) //nolint:gosec // named by the user
	return text, info, err
}
