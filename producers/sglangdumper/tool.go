package sglangdumper

import (
	"context"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/schemas"
)

// Tool is SGLang's dumper among the tools whose dumps are read.
func Tool() producers.Tool {
	return producers.Tool{Name: "sglang-dumper", Files: "a file of SGLang's dumper", NoDump: ErrNoDump, Find: find}
}

func find(path string) (producers.Found, error) {
	found, err := Find(path)
	if err != nil {
		return producers.Found{}, err
	}
	all := producers.Found{
		Tool: Tool().Name, Problems: found.Problems,
		Describe: func(run string, labels map[string]string) schemas.RunRow { return RunRow(found, run, labels) },
		Reader:   func(run string, to producers.Rows) producers.Reader { return reader{found.Dumps, run, to}.read },
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
	opened, err := Open(d, run, progress)
	if err != nil {
		return producers.Source{}, err
	}
	return producers.Source{
		Digest: opened.Digest(), Bytes: opened.Bytes(), Content: opened,
		Problems: opened.Problems,
	}, nil
}

func (d Dump) size() (bytes int64) {
	for _, f := range d.files {
		bytes += f.size
	}
	return bytes
}

// reader hands over the rows of several dumps as they are.
type reader struct {
	dumps []Dump
	run   string
	to    producers.Rows
}

func (r reader) read(ctx context.Context, dump int, progress func(int64)) (producers.Problems, error) {
	s, err := newSource(r.dumps[dump], r.run, progress)
	if err != nil {
		return producers.Problems{}, err
	}
	s.bytes = s.dump.size()
	err = s.rows(ctx, &r.to)
	return s.problems, err
}
