package delivery

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// The rows of a publisher that was killed before it ended a step stay stored; what replaces the step hides them.
func TestReplacingADumpThatWasCutShortHidesItsRows(t *testing.T) {
	t.Parallel()
	const run = "killed half-way"
	dir := recorded.Unpack(t, "D_ddp_golden")
	whole, killed := program.StartUp(t, t.TempDir()), program.StartUp(t, t.TempDir())
	whole.Publish(t, dir, run)
	whole.Settle(t)
	const rows = "SELECT count(), countIf(value_max = 123.5), uniqExact(epoch), count(DISTINCT rank) FROM tap.tensors WHERE run = '" + run + "'"
	want := whole.Query(t, rows)[0]

	copyUnfinished(t, program.ConnectStream(t, whole.Endpoint.NATS), program.ConnectStream(t, killed.Endpoint.NATS), run)
	killed.Settle(t)
	if got := killed.Query(t, rows)[0]; !slices.Equal(got, want) {
		t.Errorf("before anything replaced them, the view has rows, changed, epochs, ranks %v, want %v", got, want)
	}
	killed.Publish(t, program.Altered(t, dir, "step0/rank1"), run, "--replace")
	killed.Settle(t)
	want[1] = "1"
	if got := killed.Query(t, rows)[0]; !slices.Equal(got, want) {
		t.Errorf("the view has rows, changed, epochs, ranks %v, want %v", got, want)
	}
	report := program.Run(t, killed.Setting, "report", "completeness", "--run", run)
	if report.Status != 0 || strings.Contains(report.Stderr, "INCOMPLETE") {
		t.Errorf("completeness: %v", report)
	}
}

// copyUnfinished copies the claims and the messages of a run, but not the ends of its steps.
func copyUnfinished(tb testing.TB, from, to jetstream.JetStream, run string) {
	tb.Helper()
	copyClaims(tb, from, to)
	id := schemas.Message{Header: schemas.Header{Kind: "step", Identity: schemas.Identity{RunID: schemas.RunID(run)}}}.Subject()
	ends := strings.TrimSuffix(id, "0")
	stream, err := from.Stream(tb.Context(), pipelines.StreamName)
	if err != nil {
		tb.Fatal(err)
	}
	for sequence := range stream.CachedInfo().State.LastSeq {
		raw, err := stream.GetMsg(tb.Context(), sequence+1)
		if err != nil {
			tb.Fatal(err)
		}
		if strings.HasPrefix(raw.Subject, ends) {
			continue
		}
		if _, err := to.PublishMsg(tb.Context(), &nats.Msg{Subject: raw.Subject, Header: raw.Header, Data: raw.Data}); err != nil {
			tb.Fatal(err)
		}
	}
}

// copyClaims copies the bucket of sources as a publisher leaves it that was killed.
func copyClaims(tb testing.TB, from, to jetstream.JetStream) {
	tb.Helper()
	source, err := from.KeyValue(tb.Context(), pipelines.SourceBucket)
	if err != nil {
		tb.Fatal(err)
	}
	target, err := to.KeyValue(tb.Context(), pipelines.SourceBucket)
	if err != nil {
		tb.Fatal(err)
	}
	keys, err := source.Keys(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	for _, key := range keys {
		entry, err := source.Get(tb.Context(), key)
		if err != nil {
			tb.Fatal(err)
		}
		unfinished := bytes.Replace(entry.Value(), []byte(`"done":true`), []byte(`"done":false`), 1)
		if _, err := target.Put(tb.Context(), key, unfinished); err != nil {
			tb.Fatal(err)
		}
	}
}
