package msprobe

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestRowsOfEveryKindOfValueEqualTheirGoldenTwin(t *testing.T) {
	t.Parallel()
	found, err := Find("testdata/kinds")
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "testdata/kinds.golden", found.Dumps[0])
}

func TestRowsOfARecordedDumpEqualTheirGoldenTwin(t *testing.T) {
	t.Parallel()
	found, err := Find(unpack(t, "A_llama_mix_tensor_mlp1"))
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "testdata/tensor_mlp1.golden", found.Dumps[0])
}

// compareGolden compares the rows of a dump, as text, with the named file. `go test -update` writes the file.
func compareGolden(t *testing.T, name string, dump Dump) {
	t.Helper()
	got := describeRows(readAll(t, dump, 100))
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(name, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("rows differ from %s at line %s", name, firstDifference(got, string(want)))
	}
}

func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("%d:\n got %s\nwant %s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d: one ends", min(len(a), len(b))+1)
}

// describeRows is the rows as text, with definitions in place of their ids.
func describeRows(all rows) string {
	var b strings.Builder
	names, places, layouts := make(map[uint64]string), make(map[uint64]string), make(map[uint64]string)
	for _, o := range all.ops {
		names[o.OpID] = o.Name
		fmt.Fprintf(&b, "op\t%q level=%s prefix=%q module=%q layer=%d class=%q call=%d phase=%s\n",
			o.Name, o.Level, o.Prefix, o.ModulePath, o.LayerIndex, o.ClassOrAPI, o.CallIndex, o.Phase)
	}
	for _, s := range all.sites {
		places[s.SiteID] = fmt.Sprintf("%q %s %q", names[s.OpID], s.Role, s.Path)
	}
	for _, l := range all.layouts {
		grad := "-"
		if l.RequiresGrad != nil {
			grad = fmt.Sprint(*l.RequiresGrad)
		}
		layouts[l.LayoutID] = fmt.Sprintf("%s dtype=%q shape=%v grad=%s placement=%q literal=%q",
			l.Kind, l.Dtype, l.Shape, grad, l.Placement, l.Literal)
	}
	for _, r := range all.tensors {
		fmt.Fprintf(&b, "tensor\t%d %s micro=%d\t%s\tmeasured=%b n=%d min=%v max=%v mean=%v l2=%v digest=%d:%x\n",
			r.Seq, places[r.SiteID], r.MicroStep, layouts[r.LayoutID], r.Measured, r.ElementCount,
			r.ValueMin, r.ValueMax, r.ValueMean, r.ValueL2, r.DigestKind, r.Digest)
	}
	for _, p := range all.payloads {
		size := "-"
		if p.SizeBytes != nil {
			size = fmt.Sprint(*p.SizeBytes)
		}
		fmt.Fprintf(&b, "payload\t%d %s %q size=%s\n", p.Seq, places[p.SiteID], p.Location, size)
	}
	stacks := make(map[uint64]string)
	for _, s := range all.stacks {
		stacks[s.StackID] = fmt.Sprintf("%q", s.Frames)
	}
	calls := make(map[uint32]string)
	for _, c := range all.calls {
		calls[c.Position] = stacks[c.StackID]
	}
	for _, p := range all.programs {
		fmt.Fprintf(&b, "program\t%d %q in %q %.80s\n", p.Position, names[p.OpID], names[p.ParentOpID], calls[p.Position])
	}
	s := all.steps[0]
	fmt.Fprintf(&b, "step\t%d ops=%d tensors=%d dropped=%d %q complete=%d program=%016x\n",
		s.Step, s.OpCount, s.TensorCount, s.DroppedCount, s.DropReason, s.Complete, s.ProgramID)
	r := all.ranks[0]
	pid := int64(-1)
	if r.PID != nil {
		pid = *r.PID
	}
	fmt.Fprintf(&b, "rank\t%d pid=%d source=%s\n", r.Rank, pid, r.SourceName)
	for _, p := range all.problems.First {
		fmt.Fprintf(&b, "problem\t%s\n", p)
	}
	return b.String()
}
