// Package producers has the interface of all readers of other tools' files: the dumps at a path, and their rows, as
// messages or directly.
package producers

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"time"

	"github.com/tensortap/tensortap/schemas"
)

// Tool leaves dumps on disk that we read.
type Tool struct {
	Name  string // as `tensortap publish` and the run's row call it
	Files string // name of its files in an error, with an article
	// Find looks for its dumps at a path. The error is ErrNoDump of the tool's package where there are none.
	Find func(path string) (Found, error)
	// NoDump is that error.
	NoDump error
}

// Found is the dumps that a path leads to.
type Found struct {
	Tool         string
	Dumps        []Dump // by step, then rank
	RanksGuessed bool   // ranks were numbered by process ids
	Problems     Problems
	// Describe is the row of the run.
	Describe func(run string, labels map[string]string) schemas.RunRow
	// Reader reads several of the dumps for one run, one after the other. Each goroutine has its own.
	Reader func(run string, to Rows) Reader
}

// Labels are the labels of the run, and ranks=guessed where its ranks were guessed.
func (f *Found) Labels(given map[string]string) map[string]string {
	if !f.RanksGuessed {
		return given
	}
	labels := map[string]string{"ranks": "guessed"}
	maps.Copy(labels, given)
	return labels
}

// Reader reads the dump at a position in Found.Dumps, and returns its problems. Progress gets the bytes read of that
// dump so far, and may be nil. After an error, the rows so far are not a whole dump.
type Reader func(ctx context.Context, dump int, progress func(bytesRead int64)) (Problems, error)

// Dump is one rank's files of one step.
type Dump struct {
	Rank, Step uint32
	Dir        string
	ModTimeNs  int64 // in UTC nanoseconds
	Bytes      int64 // of the files that are read, as far as they can be seen
	Beside     bool  // it goes with a run, live or not, and takes the place of no step: its content alone says what it is
	// Open makes messages of it. It reads the files once, for the hash of their content.
	Open func(run string, progress func(bytesRead int64)) (Source, error)
}

// Source is a dump whose content is known.
type Source struct {
	Digest   uint64 // hash of the content
	Bytes    int64
	Content  Content
	Problems func() Problems // of the last reading
}

// Content gives the rows of a dump as messages.
type Content interface {
	// Reissue has the next Batches carry another epoch, generation and time.
	Reissue(epoch uint64, generation uint32, eventTimeNs int64)
	// Batches are the messages: definitions before the rows that refer to them, and the step last. An error
	// ends them.
	Batches(ctx context.Context) iter.Seq2[schemas.Message, error]
}

// FileTimeNs is the time of a file in UTC nanoseconds. A time that does not fit becomes the nearest one that does, and
// the error names both.
func FileTimeNs(t time.Time) (int64, error) {
	nearest := t
	if first := time.Unix(0, math.MinInt64); t.Before(first) {
		nearest = first
	} else if last := time.Unix(0, math.MaxInt64); t.After(last) {
		nearest = last
	}
	if !nearest.Equal(t) {
		const day = time.DateOnly
		return nearest.UnixNano(), fmt.Errorf("its time, %s, does not fit 64 bits of nanoseconds; %s is taken", t.UTC().Format(day), nearest.UTC().Format(day))
	}
	return t.UnixNano(), nil
}

// Problems returns the first unreadable parts, and the number of all.
type Problems struct {
	First []string
	Count int
}

const mostProblems = 100

// Add counts a problem, and keeps it if it is among the first.
func (p *Problems) Add(problem string) {
	p.Count++
	if len(p.First) < mostProblems {
		p.First = append(p.First, problem)
	}
}

// Rows takes rows as they are read, in the order that messages would have. A row and its lists are good until the
// call returns. The same definition may come several times. Kinds with a nil function are left out.
type Rows struct {
	Rank         func(*schemas.RankRow)
	Op           func(*schemas.OpRow)
	Site         func(*schemas.SiteRow)
	Layout       func(*schemas.LayoutRow)
	Stack        func(*schemas.StackRow)
	Program      func(*schemas.ProgramRow)
	ProgramStack func(*schemas.ProgramStackRow)
	Step         func(*schemas.StepRow)
	Tensor       func(*schemas.TensorRow)
	Payload      func(*schemas.PayloadRow)
	Signature    func(*schemas.SignatureRow)
	Tally        func(*schemas.TallyRow)
	Call         func(*schemas.CallRow)
	Failure      func(*schemas.FailureRow)
	Log          func(*schemas.LogRow)
	Metric       func(*schemas.MetricRow)
	RequestEvent func(*schemas.RequestEventRow)
}
