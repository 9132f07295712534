package system

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/producers/sglangdumper"
	"github.com/tensortap/tensortap/schemas"
)

// recorded is the dumps of one tool that a path leads to.
type recorded struct {
	tool         string // by whose name `tensortap publish` stores them
	dumps        []dump // by step, then rank
	ranksGuessed bool
	problems     problems
	describe     func(run string, labels map[string]string) schemas.RunRow
}

// dump is what one rank left of one step.
type dump struct {
	place     dumpPlace
	dir       string
	modTimeNs int64
	open      func(run string, progress func(int64)) (source, error)
}

// source is a dump whose content is known.
type source struct {
	epoch    uint64
	bytes    int64
	content  content
	problems func() problems // of the last reading
}

// content gives the rows of a dump.
type content interface {
	Reissue(epoch uint64, generation uint32, eventTimeNs int64)
	Batches(ctx context.Context) iter.Seq2[schemas.Message, error]
}

// problems are the first ones, and how many there were.
type problems struct {
	first []string
	count int
}

// finder looks for the dumps of a tool at a path.
type finder func(path string) (recorded, error)

// findAny looks for the dumps of whichever tool has left some there.
func findAny(path string) (recorded, error) {
	found, err := findMsprobe(path)
	if !errors.Is(err, msprobe.ErrNoDump) {
		return found, err
	}
	found, other := findSGLangDumper(path)
	if errors.Is(other, sglangdumper.ErrNoDump) {
		return found, fmt.Errorf("%w; nor is there a file of SGLang's dumper", err)
	}
	return found, other
}

func findMsprobe(path string) (recorded, error) {
	found, err := msprobe.Find(path)
	if err != nil {
		return recorded{}, err
	}
	all := recorded{
		tool:         "msprobe",
		ranksGuessed: found.RanksGuessed, problems: inFolder("", found.Problems),
		describe: func(run string, labels map[string]string) schemas.RunRow { return msprobe.RunRow(found, run, labels) },
	}
	for _, d := range found.Dumps {
		all.dumps = append(all.dumps, dump{
			place: dumpPlace{rank: d.Rank, step: d.Step}, dir: d.Dir, modTimeNs: d.ModTimeNs,
			open: func(run string, progress func(int64)) (source, error) { return openMsprobe(d, run, progress) },
		})
	}
	return all, nil
}

func openMsprobe(d msprobe.Dump, run string, progress func(int64)) (source, error) {
	options := msprobe.DefaultOptions(run)
	options.Progress = progress
	opened, err := msprobe.Open(d, options)
	if err != nil {
		return source{}, err
	}
	return source{
		epoch: opened.Epoch(), bytes: opened.Bytes(), content: opened,
		problems: func() problems { return inFolder(d.Dir, opened.Problems()) },
	}, nil
}

// inFolder gives the files of problems their folder: those of every step and rank have the same names.
func inFolder(dir string, from msprobe.Problems) problems {
	all := problems{count: from.Count}
	for _, problem := range from.First {
		if dir != "" && !filepath.IsAbs(problem.File) {
			problem.File = filepath.Join(dir, problem.File)
		}
		all.first = append(all.first, problem.String())
	}
	return all
}

func findSGLangDumper(path string) (recorded, error) {
	found, err := sglangdumper.Find(path)
	if err != nil {
		return recorded{}, err
	}
	all := recorded{
		tool:     "sglang-dumper",
		problems: problems{found.Problems.First, found.Problems.Count},
		describe: func(run string, labels map[string]string) schemas.RunRow {
			return sglangdumper.RunRow(found, run, labels)
		},
	}
	for _, d := range found.Dumps {
		all.dumps = append(all.dumps, dump{
			place: dumpPlace{rank: d.Rank, step: d.Step}, dir: d.Dir, modTimeNs: d.ModTimeNs,
			open: func(run string, progress func(int64)) (source, error) { return openSGLangDumper(d, run, progress) },
		})
	}
	return all, nil
}

func openSGLangDumper(d sglangdumper.Dump, run string, progress func(int64)) (source, error) {
	opened, err := sglangdumper.Open(d, run, progress)
	if err != nil {
		return source{}, err
	}
	return source{
		epoch: opened.Epoch(), bytes: opened.Bytes(), content: opened,
		problems: func() problems { return problems{opened.Problems().First, opened.Problems().Count} },
	}, nil
}
