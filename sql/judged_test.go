package sql_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judging"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
)

// judge has the case's runs judged, as the command does before it asks, and returns the parameters of the report alone.
func (d *database) judge(t *testing.T, object sql.Object, parameters map[string]string) map[string]string {
	t.Helper()
	var writing sync.Mutex
	keeper := judging.Keeper{
		Door: ask.Open(d.Conn),
		Open: func(ctx context.Context, r compare.Request) (*compare.Job, error) {
			return compare.Open(ctx, store.Open(d.Conn), r)
		},
		Publish: func(_ context.Context, messages ...schemas.Message) error {
			writing.Lock()
			defer writing.Unlock()
			d.Write(t, messages) //nolint:contextcheck // that of the test
			return nil
		},
		Stored: func(context.Context) error { return nil },
		Now:    func() time.Time { return time.Unix(1<<32, 0) }, // after what the case declares
	}
	c := judging.Comparison{Request: compare.DefaultRequest()}
	c.Request.Problem, c.Request.Benches = parameters["problem"], []string{parameters["bench"]}
	if text, given := parameters["tolerance"]; given {
		var err error
		if c.Request.Judge.Tolerance, err = strconv.ParseFloat(text, 64); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if c.Request.Judge.Exceptions, err = judging.Exceptions(t.Context(), keeper.Door); err != nil {
		t.Fatal(err)
	}
	if c.Request.Payloads, err = judging.Payloads(t.Context(), keeper.Door, c.Request.Problem, c.Request.Benches[0]); err != nil {
		t.Fatal(err)
	}
	id, err := keeper.Judged(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]string{"comparison": schemas.FormatID(id)}
	for _, p := range object.Parameters {
		if value, given := parameters[p.Name]; given && p.Name != "comparison" {
			own[p.Name] = value
		}
	}
	return own
}
