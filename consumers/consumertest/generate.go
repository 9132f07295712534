package consumertest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/schemas"
)

// Batch is a message and its rows, each as Text.
type Batch struct {
	Message schemas.Message
	Rows    []string
}

// Producer is the identity of the first batch of a producer; other numbers are other producers.
func Producer(number uint64) schemas.Identity {
	return schemas.Identity{
		RunID: 1<<63 + number, // above the range of a signed integer
		Rank:  uint32(number % 7),
		Epoch: math.MaxUint64 - number,
	}
}

// Batches returns count batches of rows of kind that follow first. The same
// arguments give the same batches. Their values are random and hostile: not
// finite, null, at the ends of their types, in many scripts, very long.
// Batches lie on three days in turn.
func Batches(tb testing.TB, kind string, first schemas.Identity, count, rows int) []Batch {
	tb.Helper()
	build, known := makers()[kind]
	if !known {
		tb.Fatalf("no random rows for kind %s: name its row type in makers", kind)
	}
	batches := make([]Batch, count)
	for i := range batches {
		id := first
		id.Batch += uint64(i)
		batch, err := build(id, rows)
		if err != nil {
			tb.Fatalf("make batch %s of %s: %v", id, kind, err)
		}
		batches[i] = batch
	}
	return batches
}

type maker func(id schemas.Identity, rows int) (Batch, error)

// makers has one entry per row type of package schemas.
func makers() map[string]maker {
	all := make(map[string]maker)
	add(all, randomBatch[schemas.RunRow])
	add(all, randomBatch[schemas.RankRow])
	add(all, randomBatch[schemas.OpRow])
	add(all, randomBatch[schemas.SiteRow])
	add(all, randomBatch[schemas.LayoutRow])
	add(all, randomBatch[schemas.StackRow])
	add(all, randomBatch[schemas.ProgramRow])
	add(all, randomBatch[schemas.ProgramStackRow])
	add(all, randomBatch[schemas.StepRow])
	add(all, randomBatch[schemas.TensorRow])
	add(all, randomBatch[schemas.PayloadRow])
	add(all, randomBatch[schemas.DeadLetterRow])
	add(all, randomBatch[schemas.AlignmentRow])
	add(all, randomBatch[schemas.PayloadErrorRow])
	add(all, randomBatch[schemas.ComparisonRow])
	add(all, randomBatch[schemas.FindingRow])
	add(all, randomBatch[schemas.KnownExceptionRow])
	add(all, randomBatch[schemas.MemoryRow])
	add(all, randomBatch[schemas.FailureRow])
	add(all, randomBatch[schemas.CollectiveRow])
	add(all, randomBatch[schemas.LogRow])
	add(all, randomBatch[schemas.MetricRow])
	add(all, randomBatch[schemas.AllocationRow])
	add(all, randomBatch[schemas.RequestEventRow])
	add(all, randomBatch[schemas.UnseenRow])
	add(all, randomBatch[schemas.HeartbeatRow])
	add(all, randomBatch[schemas.RequestRow])
	add(all, randomBatch[schemas.SignatureRow])
	add(all, randomBatch[schemas.TallyRow])
	add(all, randomBatch[schemas.CallRow])
	add(all, randomBatch[schemas.DeclaredComparisonRow])
	add(all, randomBatch[schemas.VerdictRow])
	add(all, randomBatch[schemas.JudgedStepRow])
	add(all, randomBatch[schemas.LayerErrorRow])
	add(all, randomBatch[schemas.OriginRow])
	add(all, randomBatch[schemas.BaselineRow])
	add(all, randomBatch[schemas.AlertRow])
	add(all, randomBatch[schemas.AuditRow])
	add(all, randomBatch[schemas.TokenRow])
	add(all, randomBatch[schemas.WeightRow])
	add(all, randomBatch[schemas.TokenSiteRow])
	return all
}

func add[R any, P schemas.Row[R]](to map[string]maker, build func(id schemas.Identity, rows int, like P) (Batch, error)) {
	to[P(new(R)).Table().Kind()] = func(id schemas.Identity, rows int) (Batch, error) {
		return build(id, rows, new(R))
	}
}

func randomBatch[R any, P schemas.Row[R]](id schemas.Identity, rows int, like P) (Batch, error) {
	r := rand.New(rand.NewPCG(id.RunID^id.Epoch, id.Batch<<8|uint64(len(like.Table().Kind()))))
	builder := schemas.NewBuilder[R, P]()
	table := like.Table()
	var batch Batch
	for range rows {
		var row R
		v := reflect.ValueOf(&row).Elem()
		for _, field := range v.Fields() {
			fill(r, field)
		}
		identify(r, v, table, id)
		builder.Append(&row)
		batch.Rows = append(batch.Rows, Text(row))
	}
	var err error
	batch.Message, err = builder.Message(id)
	return batch, err
}

const (
	dayNs    = int64(24 * 3600 * 1e9)
	firstDay = 20_000 * dayNs // in 2024
)

// identify gives the row its batch's identity, or a key of its own.
func identify(r *rand.Rand, row reflect.Value, table schemas.Table, id schemas.Identity) {
	if table.Class == schemas.Definition {
		for i, c := range table.Columns {
			if c.Type == schemas.Uint64 && slices.Contains(table.Key, c.Name) {
				row.Field(i).SetUint(r.Uint64())
			}
		}
		return
	}
	for i, v := range []uint64{id.RunID, uint64(id.Rank), id.Epoch, id.Batch} {
		row.Field(i).SetUint(v)
	}
	row.Field(table.Column("event_time_ns")).SetInt(firstDay + int64(id.Batch%3)*dayNs + r.Int64N(dayNs))
}

func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // rows hold no other kinds; the default says so
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(pick(r, r.Uint64(), math.MaxUint64, 0, 1<<63) >> (64 - v.Type().Bits()))
	case reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(pick(r, int64(r.Uint64()), math.MinInt64, math.MaxInt64, 0, -1) >> (64 - v.Type().Bits()))
	case reflect.Float64, reflect.Float32:
		v.SetFloat(pick(r, r.NormFloat64(), math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0,
			math.MaxFloat64, math.SmallestNonzeroFloat64, 1<<63, 0.1))
	case reflect.String:
		v.SetString(hostileText(r))
	case reflect.Pointer:
		if r.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 4))
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{}))
		for range r.IntN(4) {
			v.SetMapIndex(reflect.ValueOf(hostileText(r)), reflect.ValueOf(hostileText(r)))
		}
	}
}

// pick returns usual half of the time, else one of special.
func pick[V any](r *rand.Rand, usual V, special ...V) V {
	if r.IntN(2) == 0 {
		return usual
	}
	return special[r.IntN(len(special))]
}

// hostileText is text that breaks careless quoting, and seldom very long text.
// It ends in random digits, so that a key made of it is unique.
func hostileText(r *rand.Rand) string {
	if r.IntN(12) == 0 {
		return ""
	}
	text := pick(r, "Module.layers.0.mlp.Linear.forward.0", "'; DROP TABLE tensor; --", `\N`, "a\tb\nc\r\x00d", "{problem:String}",
		"Ω≈ç√ 测试 🧵 e\u0301\u202e", `back\slash"quote`+"`tick`", "NaN", strings.Repeat("long.", 3000))
	return fmt.Sprintf("%s%d", text, r.Uint32())
}
