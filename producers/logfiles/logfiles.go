// Package logfiles reads log files of SGLang, vLLM, torchrun, NCCL, Megatron, Hugging Face and plain Python logging: a row
// of log for each line, a row of metric for each number in a known line. Lines that match nothing are rows of text.
//
// Lines of each rank of each file are a dump of their own. They stand beside a run, and take the place of no step of it: a
// file that has grown is published again, and its lines are known by their place in it.
package logfiles

import (
	"errors"
	"time"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/content"
	"github.com/tensortap/tensortap/schemas"
)

// ErrNoLog is the cause when a path leads to no file of lines at all.
var ErrNoLog = errors.New("no log")

// Tool is log files among the tools whose files are read. Times without a zone are of the zone given; nil is the host's.
func Tool(zone *time.Location) producers.Tool {
	return producers.Tool{
		Name: schemas.SourceLogs, Files: "a log", NoDump: ErrNoLog,
		Find: func(path string) (producers.Found, error) { return find(path, clockFrom(zone)) },
	}
}

// clock is what times without a zone mean, in a time_basis too.
type clock struct {
	zone  *time.Location
	basis string
}

func clockFrom(zone *time.Location) clock {
	if zone == nil {
		return clock{time.Local, "line in host's zone"} //nolint:gosmopolitan // it says so in each row
	}
	return clock{zone, "line in zone " + zone.String()}
}

func find(path string, c clock) (producers.Found, error) {
	l, err := findLogs(path, c)
	if err != nil {
		return producers.Found{}, err
	}
	found := producers.Found{
		Tool: schemas.SourceLogs, RanksGuessed: l.guessed, Problems: l.lost,
		Describe: func(run string, labels map[string]string) schemas.RunRow { return l.describe(run, labels) },
		Reader: func(run string, to producers.Rows) producers.Reader {
			return content.Reader(to, func(dump int, progress func(int64)) *content.Content {
				return &l.parts[dump].source(run, progress).Content
			})
		},
	}
	for _, p := range l.parts {
		found.Dumps = append(found.Dumps, producers.Dump{
			Rank: p.rank, Dir: p.file.path, ModTimeNs: p.file.modTimeNs, Bytes: p.file.size, Beside: true,
			Open: func(run string, progress func(int64)) (producers.Source, error) {
				return p.source(run, progress).Opened(p.digestOf(), 0), nil // of the content since the file was found
			},
		})
	}
	return found, nil
}

// describe is the row of a run that is known by its logs alone.
func (l *logs) describe(run string, labels map[string]string) schemas.RunRow {
	row := schemas.RunRow{
		RunID: schemas.RunID(run), Name: run, Source: schemas.SourceLogs, Framework: "pytorch", Level: "none",
		Task: "structure", Labels: labels, EventTimeSource: "file", FirstEventTimeNs: l.firstNs,
	}
	row.Epoch = schemas.DescriptionID(row)
	return row
}
