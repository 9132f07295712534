package msprobe

import (
	"context"
	"os"
	"path/filepath"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/schemas"
)

// Tool is msProbe among the tools whose dumps are read.
func Tool() producers.Tool {
	return producers.Tool{Name: "msprobe", Files: "a dump of msProbe", NoDump: ErrNoDump, Find: find}
}

func find(path string) (producers.Found, error) {
	found, err := Find(path)
	if err != nil {
		return producers.Found{}, err
	}
	all := producers.Found{
		Tool: Tool().Name, RanksGuessed: found.RanksGuessed, Problems: inFolder("", found.Problems),
		Describe: func(run string, labels map[string]string) schemas.RunRow { return RunRow(found, run, labels) },
		Reader:   func(run string, to producers.Rows) producers.Reader { return newReader(found.Dumps, run, to).read },
	}
	for _, d := range found.Dumps {
		all.Dumps = append(all.Dumps, producers.Dump{
			Rank: d.Rank, Step: d.Step, Dir: d.Dir, ModTimeNs: d.ModTimeNs, Bytes: d.size(),
			Open: func(run string, progress func(int64)) (producers.Source, error) { return open(d, run, progress) },
		})
	}
	return all, nil
}

func open(d Dump, run string, progress func(int64)) (producers.Source, error) {
	options := DefaultOptions(run)
	options.Progress = progress
	opened, err := Open(d, options)
	if err != nil {
		return producers.Source{}, err
	}
	return producers.Source{
		Digest: opened.Digest(), Bytes: opened.Bytes(), Content: opened,
		Problems: func() producers.Problems { return inFolder(d.Dir, opened.Problems()) },
	}, nil
}

// inFolder adds the folder to the files of problems: files of every step and rank have the same names.
func inFolder(dir string, p Problems) producers.Problems {
	all := producers.Problems{Count: p.Count}
	for _, problem := range p.First {
		if dir != "" && !filepath.IsAbs(problem.File) {
			problem.File = filepath.Join(dir, problem.File)
		}
		all.First = append(all.First, problem.String())
	}
	return all
}

// size is the size of the dump's files, as far as they can be seen.
func (d Dump) size() (bytes int64) {
	for _, name := range files() {
		if info, err := os.Stat(filepath.Join(d.Dir, name)); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
	}
	return bytes
}

// reader hands over the rows of several dumps as they are.
type reader struct {
	dumps   []Dump
	run     string
	to      producers.Rows
	session *session
}

func newReader(dumps []Dump, run string, to producers.Rows) *reader {
	r := &reader{dumps: dumps, run: run, to: to, session: newSession()}
	if len(dumps) > 1 {
		r.session = newLongSession()
	}
	return r
}

func (r *reader) read(ctx context.Context, dump int, progress func(int64)) (producers.Problems, error) {
	options := DefaultOptions(r.run)
	options.Progress = progress
	s, err := newSource(r.dumps[dump], options)
	if err == nil {
		err = s.list()
	}
	if err == nil {
		err = s.rows(ctx, &r.to, r.session)
	}
	return inFolder(s.dump.Dir, s.problems), err
}
