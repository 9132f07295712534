// Package watch follows two runs while they grow, judges rows as they land, and reports each step and the first
// divergence, also in the middle of a step. It reads the store by looks. A look without news costs one question; else
// only changed places are read.
package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/merged"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows/store"
)

// Request names the runs to watch, and the receiver of events. Begin with DefaultRequest.
type Request struct {
	Compare       compare.Request // names of runs, which need not exist yet, and how to judge
	UntilDiverged bool            // the first divergence ends the watch
	Every         time.Duration   // between two looks at the database
	Settle        time.Duration   // how long nothing of a step may come before it is judged as a whole
	Idle          time.Duration   // time without rows after which an incomplete step is judged as it is, and runs count as ended
	Connect       func(context.Context) (*Database, error)
	Say           func(*report.WatchEvent) error
	Busy          func(string) // gets a line about the present work now and then
	Now           func() time.Time
}

// Database is a connection to the store of runs.
type Database struct {
	Source *store.Source
	Refine func(context.Context, *compare.Request) error     // adds the store's part of the rules for these runs
	Stored func(context.Context) (bool, error)               // whether all that was published is there
	Living func(context.Context) (bool, error)               // whether either run is running
	Gaps   func(context.Context) (missing []string, _ error) // of both runs
	// Nearest are the runs whose names are most like this one.
	Nearest func(ctx context.Context, run string) ([]string, error)
	Close   func()
}

// DefaultRequest looks ten times a second. The caller sets runs and functions.
func DefaultRequest() Request {
	return Request{
		Compare: compare.DefaultRequest(), Every: 100 * time.Millisecond, Settle: time.Second, Idle: 5 * time.Second,
		Busy: func(string) {},
	}
}

// Validate returns the first error of the request.
func (r Request) Validate() error {
	switch {
	case r.Every <= 0 || r.Settle < 0 || r.Idle < r.Settle:
		return fmt.Errorf("look every %v, settle %v, idle %v: want more than 0, 0 or more, and no less than settle", r.Every, r.Settle, r.Idle)
	case r.Connect == nil || r.Say == nil || r.Now == nil || r.Busy == nil:
		return errors.New("a watch needs a connection, somebody to tell, and a clock")
	case len(r.Compare.Benches) == 0:
		return errors.New("nothing to compare with: name a bench run")
	}
	return nil
}

// ErrStopped says that a watch was stopped before both runs had ended. Its
// caller knows no verdict.
var ErrStopped = errors.New("stopped before both runs had ended; nothing differed so far")

// Run follows two runs until both have ended, UntilDiverged is fulfilled, or ctx ends. A database that is away is waited
// for.
func Run(ctx context.Context, r Request) (report.Verdict, error) {
	if err := r.Validate(); err != nil {
		return report.Unknown, err
	}
	w := newWatch(r)
	defer w.close()
	for {
		ended, err := w.look(ctx)
		switch {
		case ctx.Err() != nil:
			return w.stopped()
		case err != nil:
			if err := w.endure(err); err != nil {
				return report.Unknown, err
			}
		case ended:
			verdict, _ := w.verdict()
			return verdict, w.tell(w.end())
		}
		select {
		case <-time.After(w.pause()):
		case <-ctx.Done():
		}
	}
}

// look asks once for news, and judges them. It says whether the watch has ended.
func (w *watch) look(ctx context.Context) (bool, error) {
	if err := w.connect(ctx); err != nil {
		return false, err
	}
	begin := w.r.Now()
	err := w.measure(ctx)
	w.took = w.r.Now().Sub(begin)
	if err != nil {
		return false, err
	}
	there, err := w.arrived(ctx)
	if err != nil || !there {
		return false, err
	}
	for _, judge := range []func(context.Context) error{w.judgeLanded, w.judgeWhole} {
		if err := judge(ctx); err != nil {
			return false, err
		}
		if w.first != nil && w.r.UntilDiverged {
			return true, nil
		}
	}
	if err := w.back(); err != nil {
		return false, err
	}
	return w.runsEnded(ctx)
}

// pause leaves the database some time of its own, however slow it is.
func (w *watch) pause() time.Duration { return max(w.r.Every, w.took/2) }

func (w *watch) connect(ctx context.Context) error {
	if w.database != nil {
		return nil
	}
	database, err := w.r.Connect(ctx)
	if err != nil {
		return err
	}
	w.database = database
	w.follower = database.Source.Follow(w.r.Compare.Problem, w.r.Compare.Benches[0])
	w.referee = newReferee(w.r.Compare, database, w.follower)
	return nil
}

func (w *watch) close() {
	if w.database != nil {
		w.database.Close()
		w.database = nil
	}
}

// endure reports, once, that the database is away, and reaches it anew. It returns errors that waiting
// cannot mend.
func (w *watch) endure(err error) error {
	if !passing(err) || w.told(err) || !w.reached && w.database == nil {
		return err
	}
	w.close()
	if w.away {
		return nil
	}
	w.away = true
	return w.tell(&report.WatchEvent{Event: "waiting", For: "the database: " + err.Error()})
}

// told says whether the error came from the receiver of events, which has gone.
func (w *watch) told(err error) bool { return w.deaf != nil && errors.Is(err, w.deaf) }

// passing says whether the error is no fault of the question.
func passing(err error) bool {
	_, malformed := errors.AsType[*ask.MalformedExceptionError](err)
	if _, groups := errors.AsType[*merged.OtherGroupsError](err); malformed || groups {
		return false
	}
	var exception *clickhouse.Exception
	// Codes of ClickHouse's ErrorCodes.cpp: of arguments, types, names, syntax and regular expressions.
	return !errors.As(err, &exception) || !slices.Contains([]int32{36, 42, 43, 46, 47, 62, 179, 207, ask.CannotCompileRegexp}, exception.Code)
}

// back says, once, that the database is there again.
func (w *watch) back() error {
	w.reached = true
	if !w.away {
		return nil
	}
	w.away = false
	return w.tell(&report.WatchEvent{Event: "going_on", For: "the database"})
}

func (w *watch) tell(e *report.WatchEvent) error {
	e.ElapsedNanos = w.r.Now().Sub(w.begun).Nanoseconds()
	if err := w.r.Say(e); err != nil {
		w.deaf = err
		return err
	}
	return nil
}

// stopped ends a watch that its user stopped.
func (w *watch) stopped() (report.Verdict, error) {
	if w.first != nil {
		return report.Differs, nil
	}
	return report.Unknown, ErrStopped
}
