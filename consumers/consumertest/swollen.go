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
	long := strings.Repeat("long", schemas.MaxTextBytes/4)
	const texts = schemas.MaxStreamBytes/schemas.MaxTextBytes - 1
	var op []*schemas.OpRow
	var site []*schemas.SiteRow
	var layout []*schemas.LayoutRow
	for i := range uint64(texts) {
		op = append(op, &schemas.OpRow{OpID: i, Name: long})
		site = append(site, &schemas.SiteRow{SiteID: i, Path: long})
		layout = append(layout, &schemas.LayoutRow{LayoutID: i, Dtype: long})
	}
	stack := []*schemas.StackRow{{StackID: 1, Frames: slices.Repeat([]string{long}, texts)}}
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
