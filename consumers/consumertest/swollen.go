package consumertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/schemas"
)

// Swollen returns messages of several kinds that are as good as any and can be stored: each is some kilobytes and unpacks to
// almost as much as a message may.
func Swollen(tb testing.TB, first schemas.Identity) []schemas.Message {
	tb.Helper()
	long := strings.Repeat("long", schemas.MaxTextBytes/4-64) // leaves room for what tells texts apart
	const texts = schemas.MaxStreamBytes/schemas.MaxTextBytes - 1
	var op []*schemas.OpRow
	var site []*schemas.SiteRow
	var layout []*schemas.LayoutRow
	for i := range uint64(texts) {
		text := schemas.FormatID(i) + long
		if i < texts/2 { // a row has the name, and the api in it
			row := schemas.ParseOpName("Functional." + text + ".0.forward")
			op = append(op, &row)
		}
		site = append(site, &schemas.SiteRow{SiteID: schemas.SiteID(i, "output", text), OpID: i, Role: "output", Path: text})
		row := &schemas.LayoutRow{Kind: "tensor", Dtype: text}
		row.LayoutID = schemas.LayoutID(row)
		layout = append(layout, row)
	}
	frames := slices.Repeat([]string{long}, texts)
	stack := []*schemas.StackRow{{StackID: schemas.StackID(frames), Frames: frames}}
	return []schemas.Message{packed(tb, &first, op), packed(tb, &first, site), packed(tb, &first, layout), packed(tb, &first, stack)}
}

func packed[R any, P schemas.Row[R]](tb testing.TB, id *schemas.Identity, rows []P) schemas.Message {
	tb.Helper()
	b := schemas.NewBuilder[R, P]()
	for _, row := range rows {
		b.Append((*R)(row))
	}
	id.Batch++
	m, err := b.Message(*id)
	if err != nil {
		tb.Fatalf("make a swollen message: %v", err)
	}
	return m
}
