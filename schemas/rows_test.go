package schemas

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

var update = flag.Bool("update", false, "write the golden files") //nolint:gochecknoglobals // a test flag

// awkward holds the values that get lost on the way, by Go type.
func awkward(kind reflect.Type, i int) any {
	switch kind.Kind() {
	case reflect.Float64:
		return []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324, 1.5}[i%8]
	case reflect.Uint64:
		return []uint64{0, 1, 1 << 63, math.MaxUint64}[i%4]
	case reflect.Int64:
		return []int64{0, -1, math.MinInt64, math.MaxInt64}[i%4]
	case reflect.String:
		return []string{"", "plain", "ランク\u202e 🙂", "a\x1fb\n\t'\"`;--", strings.Repeat("long ", 20000)}[i%5]
	case reflect.Slice:
		return awkwardSlice(kind.Elem(), i)
	case reflect.Map:
		return []map[string]string{nil, {"k": "v"}, {"": "", "ключ": "\x00"}}[i%3]
	default:
		v := reflect.New(kind).Elem()
		if kind.Kind() >= reflect.Int && kind.Kind() <= reflect.Int64 {
			v.SetInt(int64(i%3) - 1)
		} else {
			v.SetUint(uint64(i % 200))
		}
		return v.Interface()
	}
}

func awkwardSlice(element reflect.Type, i int) any {
	switch element.Kind() {
	case reflect.Float32:
		return [][]float32{nil, {float32(math.NaN()), float32(math.Inf(-1))}, make([]float32, 16)}[i%3]
	case reflect.Int64:
		return [][]int64{nil, {0, -1}, {math.MaxInt64}}[i%3]
	default:
		return [][]string{nil, {""}, {"a", "b\x1f", "ü"}}[i%3]
	}
}

// awkwardRows fills every column of rows of type R with awkward values.
func awkwardRows[R any](n int) []R {
	rows := make([]R, n)
	for i := range rows {
		v := reflect.ValueOf(&rows[i]).Elem()
		for f := range v.NumField() {
			fill(v.Field(f), i+f)
		}
	}
	return rows
}

func fill(field reflect.Value, i int) {
	if field.Kind() != reflect.Pointer {
		field.Set(reflect.ValueOf(awkward(field.Type(), i)))
		return
	}
	if i%3 == 0 {
		return // null
	}
	value := reflect.New(field.Type().Elem())
	value.Elem().Set(reflect.ValueOf(awkward(field.Type().Elem(), i)))
	field.Set(value)
}

// identify puts one identity into all rows of a measurement.
func identify[R any](rows []R, id Identity) {
	for i := range rows {
		v := reflect.ValueOf(&rows[i]).Elem()
		if !v.FieldByName("Batch").IsValid() {
			return
		}
		v.FieldByName("RunID").SetUint(id.RunID)
		v.FieldByName("Rank").SetUint(uint64(id.Rank))
		v.FieldByName("Epoch").SetUint(id.Epoch)
		v.FieldByName("Batch").SetUint(id.Batch)
	}
}

func pack[R any, P Row[R]](t *testing.T, rows []R, id Identity) Message {
	t.Helper()
	b := NewBuilder[R, P]()
	for i := range rows {
		b.Append(&rows[i])
	}
	m, err := b.Kept(id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// show is rows as text: NaN equals NaN, an empty slice a missing one, and a
// long text is its length and hash.
func show[R any, P Row[R]](rows []R, columns []Column) string {
	table := P(new(R)).Table()
	var b strings.Builder
	for _, c := range columns {
		b.WriteString(c.Name + "|")
	}
	b.WriteString("\n")
	for i := range rows {
		for _, c := range columns {
			b.WriteString(showValue(reflect.ValueOf(rows[i]).Field(table.Column(c.Name))) + "|")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func showValue(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return "null"
	case v.Kind() == reflect.Pointer:
		return showValue(v.Elem())
	case v.Kind() == reflect.String && v.Len() > 64:
		return fmt.Sprintf("%d bytes, hash %016x", v.Len(), hashFields(v.String()))
	case v.Kind() == reflect.Slice && v.Len() == 0:
		return "[]"
	case v.Kind() == reflect.Map && v.Len() == 0:
		return "map[]"
	case v.Kind() == reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	}
	return fmt.Sprintf("%#v", v.Interface())
}

func exercise[R any, P Row[R]](t *testing.T) {
	t.Helper()
	table := P(new(R)).Table()
	t.Run(table.Kind(), func(t *testing.T) {
		t.Parallel()
		id := Identity{RunID: 1 << 63, Rank: math.MaxUint32, Epoch: math.MaxUint64, Batch: 1 << 40}
		rows := awkwardRows[R](61)
		identify(rows, id)
		m := pack[R, P](t, rows, id)
		t.Run("envelope", func(t *testing.T) { t.Parallel(); envelopeKeeps[R, P](t, m, rows) })
		t.Run("parquet", func(t *testing.T) { t.Parallel(); parquetKeeps[R, P](t, rows) })
		t.Run("golden", func(t *testing.T) { t.Parallel(); goldenDecodes[R, P](t, table, rows[:7], id) })
		t.Run("older", func(t *testing.T) { t.Parallel(); olderColumnsDecode[R, P](t, m) })
	})
}

func TestEveryTableSurvivesEveryEncoding(t *testing.T) {
	t.Parallel()
	exercised := 0
	for _, exerciseTable := range []func(*testing.T){
		exercise[RunRow], exercise[RankRow], exercise[OpRow], exercise[SiteRow], exercise[LayoutRow],
		exercise[StackRow], exercise[ProgramRow], exercise[ProgramStackRow], exercise[StepRow],
		exercise[TensorRow], exercise[PayloadRow], exercise[DeadLetterRow],
		exercise[AlignmentRow], exercise[PayloadErrorRow], exercise[ComparisonRow], exercise[FindingRow],
		exercise[KnownExceptionRow],
		exercise[MemoryRow], exercise[FailureRow], exercise[UnseenRow], exercise[HeartbeatRow],
		exercise[SignatureRow], exercise[TallyRow], exercise[CallRow], exercise[RequestRow],
		exercise[DeclaredComparisonRow], exercise[VerdictRow], exercise[JudgedStepRow], exercise[LayerErrorRow], exercise[OriginRow], exercise[BaselineRow],
		exercise[CollectiveRow], exercise[LogRow], exercise[MetricRow], exercise[AllocationRow], exercise[RequestEventRow], exercise[AlertRow], exercise[AuditRow],
		exercise[TokenRow], exercise[WeightRow], exercise[TokenSiteRow],
	} {
		exerciseTable(t)
		exercised++
	}
	if exercised != len(Tables()) {
		t.Errorf("%d of %d tables exercised", exercised, len(Tables()))
	}
}

func envelopeKeeps[R any, P Row[R]](t *testing.T, m Message, rows []R) {
	t.Helper()
	parsed, err := ParseMessage(m.Subject(), m.NATSHeader(), m.Data, 5)
	if err != nil {
		t.Fatal(err)
	}
	if parsed.Header != m.Header {
		t.Errorf("header: got %+v, want %+v", parsed.Header, m.Header)
	}
	got, err := DecodeRows[R, P](parsed)
	if err != nil {
		t.Fatal(err)
	}
	same[R, P](t, got, rows)
}

func same[R any, P Row[R]](t *testing.T, got, want []R) {
	t.Helper()
	columns := P(new(R)).Table().Columns
	if g, w := show[R, P](got, columns), show[R, P](want, columns); g != w {
		t.Errorf("got  %.2000s\nwant %.2000s", g, w)
	}
}

func parquetKeeps[R any, P Row[R]](t *testing.T, rows []R) {
	t.Helper()
	var b bytes.Buffer
	if err := parquet.Write(&b, rows); err != nil {
		t.Fatal(err)
	}
	got, err := parquet.Read[R](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	same[R, P](t, got, rows)
}

// goldenDecodes reads bytes that version 1 wrote once, beside what they hold as
// text. They are never written again: rows of old messages decode for ever.
func goldenDecodes[R any, P Row[R]](t *testing.T, table Table, rows []R, id Identity) {
	t.Helper()
	path := filepath.Join("testdata", fmt.Sprintf("%s.v%d", table.Name, table.Version))
	if *update {
		write(t, path+".message", pack[R, P](t, rows, id).Data)
		write(t, path+".txt", []byte(show[R, P](rows, table.Columns)))
	}
	m := Message{Data: read(t, path+".message")}
	m.Header = Header{Kind: table.Kind(), Version: table.Version, Identity: id, Rows: len(rows), Encoding: EncodingArrowS2}
	got, err := DecodeRows[R, P](m)
	if err != nil {
		t.Fatal(err)
	}
	want := string(read(t, path+".txt"))
	if text := show[R, P](got, columnsNamed(table, want)); text != want {
		t.Errorf("got  %.2000s\nwant %.2000s", text, want)
	}
}

// columnsNamed are the columns that the first line of text names; the table may have grown since.
func columnsNamed(table Table, text string) []Column {
	head, _, _ := strings.Cut(text, "\n")
	var columns []Column
	for name := range strings.SplitSeq(strings.TrimSuffix(head, "|"), "|") {
		columns = append(columns, table.Columns[table.Column(name)])
	}
	return columns
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("golden file, written by -update for a new table only: %v", err)
	}
	return data
}

// olderColumnsDecode drops the last column, as if it had been declared later.
func olderColumnsDecode[R any, P Row[R]](t *testing.T, m Message) {
	t.Helper()
	record, err := m.Record()
	if err != nil {
		t.Fatal(err)
	}
	older := rebuild(t, m, record, 0, int(record.NumCols())-1)
	got, err := DecodeRows[R, P](older)
	if err != nil {
		t.Fatal(err)
	}
	last := reflect.ValueOf(got[0]).NumField() - 1
	for i := range got {
		if v := reflect.ValueOf(got[i]).Field(last); !v.IsZero() {
			t.Errorf("row %d: missing column holds %v", i, v)
		}
	}
}

func TestRecordRefusesRowsOfAnotherIdentity(t *testing.T) {
	t.Parallel()
	id := Identity{RunID: 1, Rank: 2, Epoch: 3, Batch: 4}
	rows := awkwardRows[TensorRow](3)
	identify(rows, id)
	rows[2].Batch = 5
	_, err := pack[TensorRow](t, rows, id).Record()
	var malformed *MalformedError
	if !errors.As(err, &malformed) || !strings.Contains(err.Error(), "batch") {
		t.Errorf("got %v, want a malformed batch", err)
	}
}
