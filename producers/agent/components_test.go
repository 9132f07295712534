package agent_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// TestComponentsOfMemoryAreRowsBesideThoseOfAll spools one look: what is known of nothing is told from what is not known.
func TestComponentsOfMemoryAreRowsBesideThoseOfAll(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	s.Begin(3)
	s.Put(schemas.SpoolMemoryKind, &schemas.SpoolMemory{Device: s.Text("cpu"), TimeNs: 5, HostResidentBytes: 900})
	s.Put(schemas.SpoolComponentKind, &schemas.SpoolComponent{
		Component: s.Text("gradients"), Basis: s.Text("gradients of parameters"), Device: s.Text("cpu"), TimeNs: 6, AllocatedBytes: 1,
	})
	s.Put(schemas.SpoolComponentKind, &schemas.SpoolComponent{
		Component: s.Text("kv"), Basis: s.Text("token pool"), Device: s.Text("cuda:0"), TimeNs: 7, AllocatedBytes: 101, ReservedBytes: 401,
	})
	s.End(3, 0)
	s.Die()
	serveUntil(t, config(t, root, l), empty(t, root))
	said := func(bytes *uint64) string {
		if bytes == nil {
			return "-"
		}
		return fmt.Sprint(*bytes)
	}
	var got []string
	for _, row := range rows[schemas.MemoryRow](l) {
		got = append(got, strings.Join([]string{
			fmt.Sprint(row.Step), row.Device, row.Component, row.Basis,
			said(row.AllocatedBytes), said(row.ReservedBytes), said(row.PeakBytes), said(row.HostResidentBytes),
		}, "|"))
	}
	want := []string{"3|cpu|||-|-|-|900", "3|cpu|gradients|gradients of parameters|0|-|-|-", "3|cuda:0|kv|token pool|100|400|-|-"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
