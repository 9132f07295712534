package sglangdumper

import (
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/saved"
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
	}
	dumps := make([]saved.Dump, len(found.Dumps))
	for i := range found.Dumps {
		dumps[i] = found.Dumps[i].saved()
		all.Dumps = append(all.Dumps, dumps[i].Listed())
	}
	all.Reader = func(run string, to producers.Rows) producers.Reader { return saved.Reader(dumps, run, &to) }
	return all, nil
}

func (d *Dump) saved() saved.Dump {
	all := saved.Dump{Rank: d.Rank, Step: d.Step, Dir: d.Dir, ModTimeNs: d.ModTimeNs, RankRow: d.rankRow, Rows: d.rows}
	for i := range d.files {
		all.Files = append(all.Files, d.files[i].File)
	}
	return all
}

// Source reads one dump.
type Source = saved.Source

// Open hashes the dump's files. They must not change until the batches are read. Progress is called now and then with
// the bytes read so far; it may be nil.
func Open(dump Dump, run string, progress func(bytesRead int64)) (*Source, error) {
	all := dump.saved()
	return all.Open(run, progress)
}
