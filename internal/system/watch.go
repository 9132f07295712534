package system

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/steps"
)

// WatchRequest says which runs to watch, and who is told. Begin with DefaultWatchRequest.
type WatchRequest struct {
	Compare       CompareRequest // names of runs, which need not exist yet, and how to judge
	UntilDiverged bool           // the first divergence ends the watch
	Every         time.Duration  // between two looks at the database
	Settle        time.Duration  // how long nothing of a step may come before it is judged as a whole
	Idle          time.Duration  // how long nothing at all may come before what is not whole is judged as it is, and runs count as ended
	Connect       func(context.Context) (*Client, error)
	Say           func(*report.WatchEvent) error
	Busy          func(string) // is told now and then what goes on
	Now           func() time.Time
}

// DefaultWatchRequest looks ten times a second. The caller sets runs and functions.
func DefaultWatchRequest() WatchRequest {
	return WatchRequest{
		Compare: DefaultCompareRequest(), Every: 100 * time.Millisecond, Settle: time.Second, Idle: 5 * time.Second,
		Busy: func(string) {},
	}
}

// Validate says what is wrong with the request.
func (r WatchRequest) Validate() error {
	switch {
	case r.Every <= 0 || r.Settle < 0 || r.Idle < r.Settle:
		return fmt.Errorf("look every %v, settle %v, idle %v: want more than 0, 0 or more, and no less than settle", r.Every, r.Settle, r.Idle)
	case r.Connect == nil || r.Say == nil || r.Now == nil || r.Busy == nil:
		return errors.New("a watch needs a connection, somebody to tell, and a clock")
	}
	anySteps := r.Compare
	anySteps.Steps = steps.All() // of a watch they may have gaps
	return anySteps.Validate()
}

// ErrStopped says that a watch was stopped before both runs had ended. Its
// caller knows no verdict.
var ErrStopped = errors.New("stopped before both runs had ended; nothing differed so far")

// Watch follows two runs and says what becomes of each step, and, within a
// second of its being stored, where they diverge. It returns when both have
// ended, when UntilDiverged is fulfilled, or when ctx ends; a database that is
// away is waited for.
func Watch(ctx context.Context, r WatchRequest) (report.Verdict, error) {
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

// look asks once what is new, and judges that. It says whether the watch has ended.
func (w *watch) look(ctx context.Context) (bool, error) {
	if err := w.connect(ctx); err != nil {
		return false, err
	}
	there, err := w.arrived(ctx)
	if err != nil || !there {
		return false, err
	}
	begin := w.r.Now()
	err = w.measure(ctx)
	w.took = w.r.Now().Sub(begin)
	if err != nil {
		return false, err
	}
	for _, judge := range []func(context.Context) error{w.align, w.judgeLanded, w.judgeWhole} {
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

// pause leaves the database some time of its own, however slow it is. While steps were judged others came, which wait no longer.
func (w *watch) pause() time.Duration { return max(w.r.Every, w.took/2) }

func (w *watch) connect(ctx context.Context) error {
	if w.client != nil {
		return nil
	}
	client, err := w.r.Connect(ctx)
	if err != nil {
		return err
	}
	w.client = client
	return nil
}

func (w *watch) close() {
	w.forget()
	if w.client != nil {
		w.client.Close()
		w.client = nil
	}
}

// endure says, once, that the database is away, and has it reached anew. What no waiting mends is returned.
func (w *watch) endure(err error) error {
	if !passing(err) || w.told(err) || !w.reached && w.client == nil {
		return err
	}
	w.close()
	if w.away {
		return nil
	}
	w.away = true
	return w.tell(&report.WatchEvent{Event: "waiting", For: "the database: " + err.Error()})
}

// told says whether the error is of who is told, who has gone.
func (w *watch) told(err error) bool { return w.deaf != nil && errors.Is(err, w.deaf) }

// passing says whether the error is no fault of the question.
func passing(err error) bool {
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
