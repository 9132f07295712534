package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
)

func TestRunsReadAsTheViewsTellThem(t *testing.T) {
	t.Parallel()
	d := startDatabase(t)
	for _, file := range inputs(t) {
		d.Load(t, file)
		for _, name := range append(d.runs(t), "nobody's", `'); DROP TABLE tap_store.run; --`) {
			d.holdAgainstViews(t, file, name)
		}
	}
}

func TestRecordedRunsReadAsTheViewsTellThem(t *testing.T) {
	t.Parallel()
	d := startDatabase(t)
	hostile := "good\x1f' OR 1=1 --\n{run:String}"
	d.publish(t, "B00_golden_mix", "good", 1, 0)
	d.publish(t, "D_tp_rank1_nan", hostile, 1, 0) // two ranks; NaN
	d.publish(t, "A_llama_L0_md5", "digests", 1, 0)
	d.publish(t, "B20_tensor_problem", "digests", 2, 1) // other content of the same steps
	for _, name := range []string{"good", hostile, "digests"} {
		d.holdAgainstViews(t, "recorded", name)
	}
}

func TestTwoRunsReadAtOnceShareDefinitions(t *testing.T) {
	t.Parallel()
	d := startDatabase(t)
	d.publish(t, "B00_golden_mix", "good", 1, 0)
	d.publish(t, "B05_extra_op_mix", "bad", 1, 0)
	source := store.Open(d.Conn)
	var reading errgroup.Group
	for _, name := range []string{"good", "bad", "good"} {
		reading.Go(func() error {
			run, err := source.Run(t.Context(), name)
			if err != nil {
				return err
			}
			return defined(source.Definitions(), run)
		})
	}
	if err := reading.Wait(); err != nil {
		t.Fatal(err)
	}
}

// defined says what a run refers to and the definitions lack.
func defined(d *rows.Definitions, run *rows.Run) error {
	for _, step := range run.Steps {
		program := d.Programs[step.ProgramID]
		if len(program) == 0 {
			return fmt.Errorf("program %x of step %d of %s is not defined", step.ProgramID, step.Step, run.Name)
		}
		for i, p := range program {
			if d.Ops[p.OpID] == nil || int(p.Position) != i {
				return fmt.Errorf("op %x at position %d is %v", p.OpID, i, d.Ops[p.OpID])
			}
		}
	}
	for call, stack := range run.Stacks {
		if len(d.Stacks[stack]) == 0 {
			return fmt.Errorf("stack %x of %v is not defined", stack, call)
		}
	}
	return nil
}

func TestCancelledReadSaysSo(t *testing.T) {
	t.Parallel()
	d := startDatabase(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Open(d.Conn).Run(ctx, "good"); !errors.Is(err, context.Canceled) {
		t.Fatalf("Run with a cancelled context = %v, want it to say so", err)
	}
}

// publish stores a recorded dump as a run, as epoch of that generation.
func (d *database) publish(t *testing.T, dump, run string, epoch uint64, generation uint32) {
	t.Helper()
	found, err := msprobe.Find(recorded.Unpack(t, dump))
	if err != nil {
		t.Fatal(err)
	}
	row := msprobe.RunRow(found, run, nil)
	message, err := msprobe.RunMessage(&row)
	if err != nil {
		t.Fatal(err)
	}
	messages := []schemas.Message{message}
	for i, dump := range found.Dumps {
		source, err := msprobe.Open(dump, msprobe.DefaultOptions(run))
		if err != nil {
			t.Fatal(err)
		}
		source.Reissue(epoch*1000+uint64(i), generation, int64(epoch))
		for m, err := range source.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			messages = append(messages, m)
		}
	}
	d.Write(t, messages)
}

// holdAgainstViews compares all that is read of a run with what the views of the database say.
func (d *database) holdAgainstViews(t *testing.T, file, name string) {
	t.Helper()
	source := store.Open(d.Conn)
	source.Unstored = func(context.Context, uint64) (map[uint32]uint64, error) { return unstored(name), nil }
	run, err := source.Run(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s of run %q in %s =\n%s\nwant\n%s", what, name, file, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	same("completeness", texts(run.Missing, completenessText), d.completeness(t, name))
	id := fmt.Sprint(run.ID)
	same("ranks", texts(run.Ranks, func(r schemas.RankRow) string { return fmt.Sprint(r.Rank, " ", r.Epoch, " ", r.SourceName) }),
		d.lines(t, "SELECT concat(toString(rank), ' ', toString(epoch), ' ', source_name) FROM tap.ranks WHERE run_id = "+id+" ORDER BY rank"))
	same("steps", texts(run.Steps, func(s schemas.StepRow) string {
		return fmt.Sprint(s.Rank, " ", s.Step, " ", s.Epoch, " ", s.Generation)
	}),
		d.lines(t, "SELECT concat(toString(rank), ' ', toString(step), ' ', toString(epoch), ' ', toString(generation)) FROM tap.steps WHERE run_id = "+id+" ORDER BY rank, step"))
	same("requests", texts(run.Requests, func(r schemas.RequestRow) string {
		return fmt.Sprint(r.Rank, " ", r.Step, " ", r.Seq, " ", r.Request, " ", r.Epoch)
	}),
		d.lines(t, "SELECT concat(toString(rank), ' ', toString(step), ' ', toString(seq), ' ', request, ' ', toString(epoch)) FROM tap.requests WHERE run_id = "+id+" ORDER BY rank, step, seq"))
	payloads, err := source.Payloads(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	same("payloads", slices.Sorted(slices.Values(texts(payloads, func(p schemas.PayloadRow) string {
		return fmt.Sprint(p.Rank, " ", p.Step, " ", p.Seq, " ", p.Location)
	}))),
		d.lines(t, "SELECT concat(toString(rank), ' ', toString(step), ' ', toString(seq), ' ', location) AS line FROM tap.payloads WHERE run_id = "+id+" ORDER BY line"))
	same("unseen", texts(run.Unseen, func(u schemas.UnseenRow) string {
		return fmt.Sprint(u.Rank, " ", u.Step, " ", u.Reason, " ", u.Subject, " ", u.UnseenCount)
	}),
		d.lines(t, "SELECT concat(toString(rank), ' ', toString(step), ' ', reason, ' ', subject, ' ', toString(unseen_count)) FROM tap.unseen_counts WHERE NOT on_purpose AND run_id = "+id+" ORDER BY rank, step, reason, subject"))
	same("stacks", stackTexts(run.Stacks),
		d.lines(t, "SELECT concat(toString(program_id), ' ', toString(position), ' ', toString(stack_id)) AS line FROM tap.program_stacks WHERE run_id = "+id+" ORDER BY line"))
	same("main dtype", []string{run.MainDtype}, []string{strings.Join(d.lines(t, "SELECT dtype FROM tap.main_dtypes WHERE run_id = "+id), "")})
	same("tensors", d.tensors(t, source, run), d.observations(t, name))
	same("followed", followedTexts(t, source.Follow(name)), []string{runText(run)})
}

// unstored are the steps of a run that the stream is said to know and the tables not; of rank 7 these have nothing at all.
func unstored(name string) map[uint32]uint64 {
	if name != "cut" {
		return nil
	}
	return map[uint32]uint64{0: 2, 7: 1}
}

func texts[R any](of []R, text func(R) string) []string {
	all := make([]string, len(of))
	for i, r := range of {
		all[i] = text(r)
	}
	return all
}

func stackTexts(stacks map[rows.Call]uint64) []string {
	all := make([]string, 0, len(stacks))
	for call, stack := range stacks {
		all = append(all, fmt.Sprint(call.Program, " ", call.Position, " ", stack))
	}
	slices.Sort(all)
	return all
}

func (d *database) lines(t *testing.T, query string) []string {
	t.Helper()
	text := d.Query(t, query+" FORMAT TSVRaw", "", nil)
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func (d *database) completeness(t *testing.T, name string) []string {
	t.Helper()
	report, err := sql.ReportByName("completeness")
	if err != nil {
		t.Fatal(err)
	}
	query := `SELECT concat(toString(rank), '|', if(complete, 'true', 'false'), '|', explanation, '|', toString([step_count, incomplete_step_count,
		produced_row_count, stored_row_count, dropped_count, batch_count, missing_batch_count, dead_letter_count, undefined_id_count, unstored_step_count]), '|',
		arrayStringConcat(drop_reasons, ';'), '|', arrayStringConcat(unseen, ';'), '|', ifNull(toString(last_event_time_ns), ''))
		FROM (` + report.Query + `) FORMAT TSVRaw`
	escaped := strings.NewReplacer("\\", "\\\\", "\n", "\\n", "\t", "\\t").Replace(name)
	lost := []string{}
	for rank, count := range unstored(name) {
		lost = append(lost, fmt.Sprintf("(%d,%d,%d)", schemas.RunID(name), rank, count))
	}
	text := d.Query(t, query, "", map[string]string{"run": escaped, "others": "[]", "unstored": "[" + strings.Join(lost, ",") + "]"})
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func completenessText(c rows.Completeness) string {
	last := ""
	if c.LastEventTimeNs != nil {
		last = fmt.Sprint(*c.LastEventTimeNs)
	}
	numbers := fmt.Sprint([]uint64{c.Steps, c.IncompleteSteps, c.Produced, c.Stored, c.Dropped, c.Batches, c.MissingBatches, c.DeadLetters, c.UndefinedIDs, c.UnstoredSteps})
	return fmt.Sprintf("%d|%t|%s|%s|%s|%s|%s", c.Rank, c.Complete, c.Explanation, strings.ReplaceAll(numbers, " ", ","),
		strings.Join(c.DropReasons, ";"), strings.Join(c.Unseen, ";"), last)
}

// tensors are all of a run, read in windows of three places.
func (d *database) tensors(t *testing.T, source *store.Source, run *rows.Run) []string {
	t.Helper()
	places := slices.Clone(run.Open)
	for _, s := range run.Steps {
		places = append(places, rows.Place{Rank: s.Rank, Step: s.Step})
	}
	found := map[rows.Place]*rows.Tensors{}
	for some := range slices.Chunk(places, 3) {
		window, err := source.Tensors(t.Context(), run, some)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(found, window)
	}
	var all []string
	slices.SortFunc(places, func(a, b rows.Place) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step)) })
	for _, place := range places {
		for i := range found[place].Len() {
			all = append(all, fmt.Sprintf("%v %+v", place, found[place].At(i)))
		}
	}
	return all
}

// observations are the same as the view tells them.
func (d *database) observations(t *testing.T, name string) []string {
	t.Helper()
	query := `SELECT * FROM tap.observations(run = {run:String}, rank = -1, first_step = 0, last_step = -1) ORDER BY rank, step, seq, site_id, micro_step`
	answer, err := clickhouse.Query(t.Context(), d.Conn, query, map[string]string{"run": name}, "ArrowStream")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Close() }()
	reader, err := ipc.NewReader(answer)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	var all []string
	for reader.Next() {
		all = append(all, observationTexts(t, reader.RecordBatch())...)
	}
	return all
}

func observationTexts(t *testing.T, record arrow.RecordBatch) []string {
	t.Helper()
	found, err := schemas.AppendRecord[schemas.TensorRow](nil, record)
	if err != nil {
		t.Fatal(err)
	}
	return texts(found, func(r schemas.TensorRow) string {
		var one rows.Tensors
		one.Append(&r)
		return fmt.Sprintf("%v %+v", rows.Place{Rank: r.Rank, Step: r.Step}, one.At(0))
	})
}
