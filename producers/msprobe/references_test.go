package msprobe

import (
	"testing"

	"github.com/tensortap/tensortap/schemas"
)

func opIDOf(r schemas.OpRow) uint64         { return r.OpID }
func siteIDOf(r schemas.SiteRow) uint64     { return r.SiteID }
func layoutIDOf(r schemas.LayoutRow) uint64 { return r.LayoutID }
func stackIDOf(r schemas.StackRow) uint64   { return r.StackID }

func set[R any](list []R, id func(R) uint64) map[uint64]bool {
	ids := make(map[uint64]bool)
	for _, r := range list {
		ids[id(r)] = true
	}
	return ids
}

func check(tb testing.TB, ids map[uint64]bool, id uint64, what string) {
	tb.Helper()
	if !ids[id] {
		tb.Errorf("%s %016x has no row that defines it", what, id)
	}
}

func TestEveryIDOfARecordedDumpIsDefined(t *testing.T) {
	t.Parallel()
	for _, dir := range dumpFolders(t, "testdata/kinds", unpack(t, "D_ddp_golden", "A_llama_mix_structure", "A_llama_mix_tensor_mlp1", "A_llama_L1_md5")) {
		references(t, readAll(t, Dump{Dir: dir}, 500))
	}
}
