// Package folders reads dumps on disk as the runs of a comparison: no server, no engine and no messages on the way.
// Once open, all of them are in memory, some 35 to 70 bytes for each tensor.
package folders

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/dumps"
	"github.com/tensortap/tensortap/schemas"
)

// Folder is the folder of a run's dumps, of any tool.
type Folder struct {
	Name string // of the run, 1 to 200 characters
	Path string
}

// Source has the runs in some folders. Its methods may be called at the same time. All callers share its rows,
// and must not change them.
type Source struct {
	runs        []*run
	definitions *rows.Definitions
}

// run is the content of one folder.
type run struct {
	folder Folder
	found  producers.Found
	dumps  []dump                 // as in found
	calls  []map[rows.Call]uint64 // stacks of calls, one map for each reader
	facts  *rows.Run
	limits []string // gaps of the facts
}

// Open reads the dumps in all folders. Progress gets the bytes read so far out of all, from several goroutines, and
// may be nil. An unreadable part of a dump is a problem; an error is a folder without dumps, a file that cannot be
// opened or that changed meanwhile.
func Open(ctx context.Context, folders []Folder, progress func(done, all int64)) (*Source, error) {
	s := &Source{}
	for _, folder := range folders {
		found, err := dumps.Find(filepath.Clean(folder.Path))
		if err != nil {
			return nil, err
		}
		s.runs = append(s.runs, &run{folder: folder, found: found, dumps: make([]dump, len(found.Dumps))})
	}
	if err := s.read(ctx, progress); err != nil {
		return nil, err
	}
	for _, r := range s.runs {
		r.conclude(s.definitions)
	}
	return s, nil
}

// mostReaders bounds how many dumps are read at a time.
const mostReaders = 8

func (s *Source) read(ctx context.Context, progress func(done, all int64)) error {
	work := newWork(s.runs, min(mostReaders, runtime.GOMAXPROCS(0)))
	told := newProgress(s.runs, progress)
	readers := make([][]*reader, len(work.shares))
	group, ctx := errgroup.WithContext(ctx)
	for i := range work.shares {
		group.Go(func() error {
			for task, ok := work.next(i); ok; task, ok = work.next(i) {
				r := readerOf(&readers[i], task.run)
				if err := r.read(ctx, task.dump, told.of()); err != nil {
					return fmt.Errorf("read %s: %w", task.run.folder.Path, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	all := slices.Concat(readers...)
	for _, r := range all {
		r.run.calls = append(r.run.calls, r.calls)
	}
	s.definitions = merge(all)
	return nil
}

// readerOf is the reader of a run among a goroutine's readers.
func readerOf(readers *[]*reader, of *run) *reader {
	for _, r := range *readers {
		if r.run == of {
			return r
		}
	}
	made := newReader(of)
	*readers = append(*readers, made)
	return made
}

// Definitions are those of all runs.
func (s *Source) Definitions() *rows.Definitions { return s.definitions }

// Run has the facts about the run of that name.
func (s *Source) Run(_ context.Context, name string) (*rows.Run, error) {
	r, err := s.named(name)
	if err != nil {
		return nil, err
	}
	return r.facts, nil
}

func (s *Source) named(name string) (*run, error) {
	for _, r := range s.runs {
		if r.folder.Name == name {
			return r, nil
		}
	}
	return nil, fmt.Errorf("no folder was read as run %q", name)
}

// Tensors are the tensors of some places of a run.
func (s *Source) Tensors(_ context.Context, of *rows.Run, places []rows.Place) (map[rows.Place]*rows.Tensors, error) {
	r, err := s.named(of.Name)
	if err != nil {
		return nil, err
	}
	wanted := make(map[rows.Place]bool, len(places))
	for _, place := range places {
		wanted[place] = true
	}
	tensors := make(map[rows.Place]*rows.Tensors, len(places))
	for i := range r.dumps {
		if d := &r.dumps[i]; wanted[d.place] && d.tensors.Len() > 0 {
			tensors[d.place] = d.tensors
		}
	}
	return tensors, nil
}

// Payloads are where the raw tensors of a run lie, relative to the folder of their dump, by rank, step and seq. The
// dumps that keep any are read once more for them.
func (s *Source) Payloads(ctx context.Context, of *rows.Run) ([]schemas.PayloadRow, error) {
	r, err := s.named(of.Name)
	if err != nil {
		return nil, err
	}
	var payloads []schemas.PayloadRow
	read := r.found.Reader(r.folder.Name, producers.Rows{Payload: func(row *schemas.PayloadRow) {
		payloads = append(payloads, *row)
	}})
	for i := range r.dumps {
		if !r.dumps[i].keeps {
			continue
		}
		if _, err := read(ctx, i, nil); err != nil {
			return nil, fmt.Errorf("read %s: %w", r.folder.Path, err)
		}
	}
	sortPayloads(payloads)
	return payloads, nil
}

// Problems lists the unreadable parts, folder by folder: the first ones of each dump, and the number of all.
func (s *Source) Problems() (first []string, count int) {
	add := func(p producers.Problems) {
		first, count = append(first, p.First...), count+p.Count
	}
	for _, r := range s.runs {
		add(r.found.Problems)
		for i := range r.dumps {
			add(r.dumps[i].problems)
		}
		add(producers.Problems{First: r.limits, Count: len(r.limits)})
	}
	return first, count
}
