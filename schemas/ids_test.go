package schemas

import (
	"strings"
	"testing"
)

// The golden vectors were computed by another implementation of xxh3 (the
// engine's own xxh3 function), see testdata/ids.tsv.
func TestIDsEqualTheGoldenVectors(t *testing.T) {
	t.Parallel()
	ids := knownIDs()

	seen := 0
	for line := range strings.Lines(string(read(t, "testdata/ids.tsv"))) {
		name, want, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		seen++
		if got := FormatID(ids[name]); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	if seen != len(ids) {
		t.Errorf("%d golden vectors for %d ids", seen, len(ids))
	}
}

func knownIDs() map[string]uint64 {
	one := uint8(1)
	tensor := LayoutRow{Kind: "tensor", Dtype: "torch.float32", Shape: []int64{2, 128, 256}, RequiresGrad: &one}
	literal := LayoutRow{Kind: "int", Literal: "3"}
	var program, empty ProgramHasher
	program.Add(OpID("Functional.linear.0.forward"), 0)
	program.Add(OpID("Tensor.add.0.forward"), OpID("Module.m.M.forward.0"))
	signature := SignatureRow{OpName: "aten.mm.default", Inputs: []string{"self: a", "mat2: b"}, Outputs: []string{"c"}}
	return map[string]uint64{
		"signature":                      SignatureID(&signature),
		"tally":                          TallyID([]TallyRow{{SignatureID: 1, ModulePath: "layers.0", CallCount: 2}, {SignatureID: 3, CallCount: 50}}),
		"tally empty":                    TallyID(nil),
		"run bad":                        RunID("bad"),
		"run empty":                      RunID(""),
		"run ünïcødé/ランク":                RunID("ünïcødé/ランク"),
		"op Functional.linear.0.forward": OpID("Functional.linear.0.forward"),
		"site input 0":                   SiteID(OpID("Functional.linear.0.forward"), "input", "0"),
		"site nested":                    SiteID(OpID("Functional.linear.0.forward"), "output", "1.1"),
		"layout tensor":                  LayoutID(&tensor),
		"layout literal":                 LayoutID(&literal),
		"stack":                          StackID([]string{"File a.py, line 1, in f", "File b.py, line 2, in g"}),
		"stack empty":                    StackID(nil),
		"program":                        program.ID(),
		"program empty":                  empty.ID(),
	}
}

func TestParseIDReadsWhatFormatIDWrote(t *testing.T) {
	t.Parallel()
	for _, id := range []uint64{0, 1, 1 << 63, ^uint64(0)} {
		if got, err := ParseID(FormatID(id)); err != nil || got != id {
			t.Errorf("ParseID(FormatID(%d)) = %d, %v", id, got, err)
		}
	}
	for _, text := range []string{"", "12", "00000000000000zz", "0000000000000000000"} {
		if _, err := ParseID(text); err == nil {
			t.Errorf("ParseID(%q) found no error", text)
		}
	}
}
