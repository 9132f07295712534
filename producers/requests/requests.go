// Package requests reads what inference engines leave of the requests that they served: crash dumps and request dumps of
// SGLang (pickles), its request log, request metrics and crash snapshots (JSON), and vLLM's lines about requests.
//
// Each moment in the life of a request is a row of request_event; a crash snapshot is a failure. No code in a pickle is
// run: classes are names here, and a file that asks for a function that runs programs is refused by that name. Prompts
// are personal data: they are hashed, unless the user keeps them.
package requests

import (
	"errors"
	"fmt"
	"time"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/internal/content"
	"github.com/tensortap/tensortap/schemas"
)

// ErrNoRequests is the cause when a path leads to nothing that tells of requests.
var ErrNoRequests = errors.New("nothing tells of requests")

// Options say how the files are read.
type Options struct {
	KeepPrompts bool
	Zone        *time.Location // of times that name none; nil is this host's
}

// Tool is these files among the tools whose files are read.
func Tool(options Options) producers.Tool {
	if options.Zone == nil {
		options.Zone = time.Local //nolint:gosmopolitan // it says so in each row
	}
	return producers.Tool{
		Name: schemas.SourceRequests, Files: "requests of an engine", NoDump: ErrNoRequests,
		Find: func(path string) (producers.Found, error) { return find(path, options) },
	}
}

func find(path string, options Options) (producers.Found, error) {
	files, problems, err := listFiles(path, options)
	if err != nil {
		return producers.Found{}, fmt.Errorf("find requests at %s: %w", path, err)
	}
	found := producers.Found{
		Tool: schemas.SourceRequests, Problems: problems,
		Describe: func(run string, labels map[string]string) schemas.RunRow { return describe(files, run, labels) },
		Reader: func(run string, to producers.Rows) producers.Reader {
			return content.Reader(to, func(i int, progress func(int64)) *content.Content { return &files[i].source(run, progress).Content })
		},
	}
	for _, f := range files {
		found.Dumps = append(found.Dumps, producers.Dump{
			Rank: f.rank, Dir: f.path, ModTimeNs: f.modTimeNs, Bytes: f.size, Beside: true,
			Open: func(run string, progress func(int64)) (producers.Source, error) { return f.open(run, progress) },
		})
	}
	return found, nil
}

// describe is the row of a run that is known by its requests alone.
func describe(files []*file, run string, labels map[string]string) schemas.RunRow {
	row := schemas.RunRow{
		RunID: schemas.RunID(run), Name: run, Source: schemas.SourceRequests, Framework: "pytorch", Engine: files[0].engine,
		Level: "none", Task: "structure", Labels: labels, EventTimeSource: "file", FirstEventTimeNs: files[0].modTimeNs,
	}
	row.Epoch = schemas.DescriptionID(row)
	return row
}
