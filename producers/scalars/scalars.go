// Package scalars reads the numbers that training programs log beside their text: TensorBoard's event files, Transformer
// Engine's logs of statistics, and what W&B exports as JSONL and CSV, as rows of metric.
//
// A file stands beside a run, and takes the place of no step of it. Histograms, images and texts are no numbers, and are
// passed over. A damaged record is counted and named; where the length of one is damaged, nothing behind it can be read.
package scalars

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/content"
	"github.com/tensortap/tensortap/schemas"
)

// ErrNoScalars is the cause when a path leads to no file of scalars at all.
var ErrNoScalars = errors.New("no scalars")

// Tool is files of scalars among the tools whose files are read.
func Tool() producers.Tool {
	return producers.Tool{Name: schemas.SourceScalars, Files: "a file of scalars", NoDump: ErrNoScalars, Find: find}
}

// file is one of scalars.
type file struct {
	path, name string
	rank       uint32
	size       int64
	modTimeNs  int64
	isEvents   bool
	problem    string // of its time
}

func find(path string) (producers.Found, error) {
	files, err := list(path)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%w: no file there is named like events.out.tfevents.…, nvdlfw_inspect_….log, wandb….jsonl or wandb….csv", ErrNoScalars)
	}
	if err != nil {
		return producers.Found{}, fmt.Errorf("find scalars at %s: %w", path, err)
	}
	found := producers.Found{Tool: schemas.SourceScalars, Describe: func(run string, labels map[string]string) schemas.RunRow { return describe(files, run, labels) }}
	for _, f := range files {
		if f.problem != "" {
			found.Problems.Add(f.problem)
		}
		found.Dumps = append(found.Dumps, producers.Dump{
			Rank: f.rank, Dir: f.path, ModTimeNs: f.modTimeNs, Bytes: f.size, Beside: true,
			Open: func(run string, progress func(int64)) (producers.Source, error) { return f.open(run, progress) },
		})
	}
	found.Reader = func(run string, to producers.Rows) producers.Reader {
		return content.Reader(to, func(i int, progress func(int64)) *content.Content { return &files[i].source(run, progress).Content })
	}
	return found, nil
}

func describe(files []*file, run string, labels map[string]string) schemas.RunRow {
	row := schemas.RunRow{
		RunID: schemas.RunID(run), Name: run, Source: schemas.SourceScalars, Level: "none", Task: "structure",
		Labels: labels, EventTimeSource: "file", FirstEventTimeNs: math.MaxInt64,
	}
	for _, f := range files {
		row.FirstEventTimeNs = min(row.FirstEventTimeNs, f.modTimeNs)
	}
	row.Epoch = schemas.DescriptionID(row)
	return row
}

// list is the file at a path, or the files below a folder that are named like those of scalars.
func list(path string) ([]*file, error) {
	var files []*file
	err := filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() || (at != path && !isNamedSo(entry.Name())) {
			return nil
		}
		f, err := newFile(path, at)
		files = append(files, f)
		return err
	})
	return files, err
}

const (
	eventsMark    = "tfevents"
	statisticMark = "nvdlfw_inspect_"
)

func isNamedSo(name string) bool {
	return strings.Contains(name, eventsMark) || isWandb(name) || strings.HasPrefix(name, statisticMark) && strings.HasSuffix(name, ".log")
}

var rankInName = regexp.MustCompile(`(?:rank|worker)[-_]?(\d{1,9})(?:\D|$)`) // of SageMaker's debugger: worker_0

func newFile(root, path string) (*file, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: it is no file that can be read", path)
	}
	if err != nil {
		return nil, err
	}
	name, err := filepath.Rel(root, path)
	if err != nil || name == "." {
		name = filepath.Base(path)
	}
	f := &file{path: path, name: filepath.ToSlash(name), size: info.Size()}
	if rank := rankInName.FindStringSubmatch(f.name); rank != nil {
		number, _ := strconv.ParseUint(rank[1], 10, 32) // nine digits
		f.rank = uint32(number)
	}
	if f.modTimeNs, err = producers.FileTimeNs(info.ModTime()); err != nil {
		f.problem = fmt.Sprintf("%s: %v", path, err)
	}
	f.isEvents, err = f.looksLikeEvents()
	return f, err
}

// looksLikeEvents says whether the file begins with the length of a record: a line of text would be one of petabytes.
func (f *file) looksLikeEvents() (bool, error) {
	input, err := os.Open(f.path)
	if err != nil {
		return false, err
	}
	defer input.Close() //nolint:errcheck // only read
	var head [8]byte
	n, _ := input.Read(head[:])
	return strings.Contains(filepath.Base(f.path), eventsMark) || n == len(head) && head[4]|head[5]|head[6]|head[7] == 0, nil
}
