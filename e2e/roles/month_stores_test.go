package roles

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// stores is where the events of a month lie.
type stores struct {
	t       *testing.T
	tables  *engine
	archive string
	js      jetstream.JetStream
	audited int // tensors that were found once in tables and archive
	gone    map[string]bool
}

func openStores(t *testing.T, s *staff) *stores {
	t.Helper()
	return &stores{
		t: t, tables: &engine{s.engine.DSN, s.engine.Open(t)}, archive: s.archive, js: program.ConnectStream(t, s.nats.URL()), gone: map[string]bool{},
	}
}

// auditedKinds are the events that every rank writes in each step.
func auditedKinds() []string {
	return []string{schemas.Tensor().Kind(), schemas.Step().Kind(), schemas.Memory().Kind()}
}

// wantedRows are the rows of a kind that a run has.
func (w *written) wantedRows(kind string) int {
	if kind == schemas.Tensor().Kind() {
		return w.tensors
	}
	return w.steps
}

// standstill is how long nothing may come of waiting.
const standstill = 3 * time.Minute

// audit waits until tables and archive hold what a run has written, which they do if nothing is lost and nothing is there
// twice. It waits as long as something comes of it, and has the staff tended meanwhile.
func (s *stores) audit(w *written, staff *staff) {
	s.t.Helper()
	before, since := "", time.Now()
	for {
		wrong := strings.Join(append(s.inTables(w), s.inArchive(w)...), "\n")
		if wrong == "" {
			s.audited += w.tensors
			return
		}
		if wrong != before {
			before, since = wrong, time.Now()
		}
		if time.Since(since) > standstill {
			s.t.Errorf("run %s is stored other than written, and has been for %v:\n%s\n%s\n%s", w.run, standstill, wrong, s.gaps(w), staff.lastWords())
			return
		}
		staff.tend()
		time.Sleep(time.Second)
	}
}

// gaps are the batches of memory that each rank has in the tables, for who looks for what is missing.
func (s *stores) gaps(w *written) (words string) {
	err := s.tables.conn.QueryRow(s.t.Context(), fmt.Sprintf("SELECT toString(groupArray((rank, batches))) FROM (SELECT rank, arraySort(groupUniqArray(batch)) AS batches FROM tap_store.memory WHERE run_id = %d GROUP BY rank ORDER BY rank)",
		schemas.RunID(w.run))).Scan(&words)
	if err != nil {
		return err.Error()
	}
	return words
}

// inTables is in words what the tables hold other than written.
func (s *stores) inTables(w *written) (wrong []string) {
	run := schemas.RunID(w.run)
	for _, kind := range auditedKinds() {
		distinct := "rank, step"
		if kind == schemas.Tensor().Kind() {
			distinct = "rank, step, seq"
		}
		want := fmt.Sprint(w.wantedRows(kind), " ", w.wantedRows(kind))
		wrong = append(wrong, s.differs("rows of "+kind+", distinct ones", want, fmt.Sprintf("SELECT concat(toString(count()), ' ', toString(uniqExact(%s))) FROM tap_store.%s WHERE run_id = %d", distinct, kind, run))...)
	}
	wrong = append(wrong, s.differs("sum of means", fmt.Sprint(w.sum), fmt.Sprintf("SELECT toString(sumIf(value_mean, isFinite(value_mean))) FROM tap_store.tensor WHERE run_id = %d", run))...)
	wrong = append(wrong, s.differs("ranks, incomplete ones", fmt.Sprint(monthRanks, " 0"), "SELECT concat(toString(count()), ' ', toString(countIf(NOT complete))) FROM tap.completeness WHERE run = '"+w.run+"'")...)
	if w.run == benchRun {
		return wrong
	}
	return append(wrong, s.differs("judged steps, distinct ones, those that differ", fmt.Sprint(w.steps, " ", w.steps, " ", w.differing),
		fmt.Sprintf("SELECT concat(toString(count()), ' ', toString(uniqExact(comparison_id, rank, step)), ' ', toString(countIf(differing_count > 0))) FROM tap.judged_steps WHERE run_id = %d", run))...)
}

// differs says in words when the tables answer other than wanted.
func (s *stores) differs(what, want, query string) []string {
	var got string
	err := s.tables.conn.QueryRow(s.t.Context(), query).Scan(&got)
	if err == nil && got == want {
		return nil
	}
	return []string{fmt.Sprintf("tables: %s: %q, want %q; %v", what, got, want, err)}
}

// inArchive is in words what the archive holds other than written.
func (s *stores) inArchive(w *written) (wrong []string) {
	rows, seen := map[string]int{}, map[string]bool{}
	for m, err := range parquet.Saved(s.t.Context(), s.archive, auditedKinds()...) {
		switch {
		case err != nil: // a file of another run may just be removed with it
			wrong = append(wrong, fmt.Sprintf("archive: %v", err))
			continue
		case m.Header.Identity.RunID != schemas.RunID(w.run):
			continue
		case seen[m.ID()]:
			wrong = append(wrong, "archive: twice "+m.ID())
		}
		seen[m.ID()] = true
		rows[m.Header.Kind] += m.Header.Rows
	}
	for _, kind := range auditedKinds() {
		if rows[kind] != w.wantedRows(kind) {
			wrong = append(wrong, fmt.Sprintf("archive: %d rows of %s, %d written", rows[kind], kind, w.wantedRows(kind)))
		}
	}
	return wrong
}

// requireGone checks that no store has anything of some runs.
func (s *stores) requireGone(runs []*written) {
	s.t.Helper()
	if len(runs) == 0 {
		return
	}
	ids := make([]string, len(runs))
	for i, w := range runs {
		id := schemas.RunID(w.run)
		ids[i] = strconv.FormatUint(id, 10)
		if files := s.archivedOf(id); len(files) > 0 {
			s.t.Errorf("the time of run %s is over, and in the archive are %v", w.run, files)
		}
		if left := s.inStream(id); left > 0 {
			s.t.Errorf("the time of run %s is over, and the stream has %d messages of it", w.run, left)
		}
		s.gone[w.run] = true
	}
	for _, table := range schemas.Tables() {
		if table.Column("run_id") < 0 || !schemas.OfRun(table.Kind()) {
			continue
		}
		query := fmt.Sprintf("SELECT concat(toString(count()), ' of ', toString(uniqExact(run_id)), ' runs') FROM tap_store.%s WHERE run_id IN (%s)", table.Kind(), strings.Join(ids, ","))
		for _, words := range s.differs("rows of "+table.Kind()+" whose time is over", "0 of 0 runs", query) {
			s.t.Error(words)
		}
	}
}

// archivedOf are the folders that the archive has of a run.
func (s *stores) archivedOf(run uint64) []string {
	folders, _ := filepath.Glob(filepath.Join(s.archive, "event=*", "run="+schemas.FormatID(run)))
	return slices.DeleteFunc(folders, func(folder string) bool {
		return !schemas.OfRun(strings.TrimPrefix(filepath.Base(filepath.Dir(folder)), "event="))
	})
}

// inStream is how many messages of a run the stream has.
func (s *stores) inStream(run uint64) (messages uint64) {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), pipelines.StreamName)
	if err != nil {
		s.t.Error(err)
		return 0
	}
	info, err := stream.Info(s.t.Context(), jetstream.WithSubjectFilter("*.*.*."+schemas.FormatID(run)+".*"))
	if err != nil {
		s.t.Error(err)
		return 0
	}
	for subject, count := range info.State.Subjects {
		if schemas.OfRun(strings.Split(pipelines.Published(subject), ".")[1]) {
			messages += count
		}
	}
	return messages
}

// requireNothingTwice checks what stands beside runs.
func (s *stores) requireNothingTwice() {
	s.t.Helper()
	for what, query := range map[string]string{
		"batches judged twice":        "SELECT count() - uniqExact(run_id, rank, epoch, batch) FROM tap_store.judged_step",
		"messages that were put away": "SELECT count() FROM tap_store.dead_letter",
	} {
		var rows int64
		if err := s.tables.conn.QueryRow(s.t.Context(), "SELECT toInt64(("+query+"))").Scan(&rows); err != nil || rows != 0 {
			s.t.Errorf("%d %s, want none; %v", rows, what, err)
		}
	}
}
