package sglangdumper_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/sglangdumper"
	"github.com/tensortap/tensortap/schemas"
)

// bench unpacks files of SGLang 0.5.23 and returns their folder.
func bench(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := recorded.Extract("testdata/bench.tar.gz", dir); err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(dir, "bench")
}

func find(tb testing.TB, path string) sglangdumper.Found {
	tb.Helper()
	found, err := sglangdumper.Find(path)
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

// rows is all that one dump becomes.
type rows struct {
	messages []schemas.Message
	problems producers.Problems
	ops      map[uint64]schemas.OpRow
	sites    map[uint64]schemas.SiteRow
	layouts  map[uint64]schemas.LayoutRow
	program  []schemas.ProgramRow
	tensors  []schemas.TensorRow
	payloads []schemas.PayloadRow
	ranks    []schemas.RankRow
	step     schemas.StepRow
}

func read(tb testing.TB, dump sglangdumper.Dump) rows {
	tb.Helper()
	source, err := sglangdumper.Open(dump, "a run", nil)
	if err != nil {
		tb.Fatal(err)
	}
	source.Reissue(source.Digest(), 0, 7) // not the time at which the test unpacked the files
	all := rows{ops: map[uint64]schemas.OpRow{}, sites: map[uint64]schemas.SiteRow{}, layouts: map[uint64]schemas.LayoutRow{}}
	for m, err := range source.Batches(tb.Context()) {
		if err != nil {
			tb.Fatal(err)
		}
		all.add(tb, m)
	}
	all.problems = source.Problems()
	return all
}

func (r *rows) add(tb testing.TB, m schemas.Message) {
	tb.Helper()
	r.messages = append(r.messages, m)
	switch m.Header.Kind {
	case "op":
		for _, row := range decode[schemas.OpRow](tb, m) {
			r.ops[row.OpID] = row
		}
	case "site":
		for _, row := range decode[schemas.SiteRow](tb, m) {
			r.sites[row.SiteID] = row
		}
	case "layout":
		for _, row := range decode[schemas.LayoutRow](tb, m) {
			r.layouts[row.LayoutID] = row
		}
	case "program":
		r.program = append(r.program, decode[schemas.ProgramRow](tb, m)...)
	case "tensor":
		r.tensors = append(r.tensors, decode[schemas.TensorRow](tb, m)...)
	case "payload":
		r.payloads = append(r.payloads, decode[schemas.PayloadRow](tb, m)...)
	case "rank":
		r.ranks = append(r.ranks, decode[schemas.RankRow](tb, m)...)
	case "step":
		r.step = decode[schemas.StepRow](tb, m)[0]
	}
}

func decode[R any, P schemas.Row[R]](tb testing.TB, m schemas.Message) []R {
	tb.Helper()
	decoded, err := schemas.DecodeRows[R, P](m)
	if err != nil {
		tb.Fatal(err)
	}
	return decoded
}

// line is an op of the program under its parent.
func (r *rows) line(at schemas.ProgramRow) string {
	return r.ops[at.OpID].Name + " < " + r.ops[at.ParentOpID].Name
}

func TestWhatTheDumperSavedBecomesTheCallsOfModules(t *testing.T) {
	t.Parallel()
	found := find(t, bench(t))
	if len(found.Dumps) != 3 || found.Problems.Count != 0 {
		t.Fatalf("%d dumps, %+v", len(found.Dumps), found.Problems)
	}
	all := read(t, found.Dumps[0])
	if all.problems.Count != 0 || len(all.tensors) != 88 || len(all.payloads) != 87 {
		t.Fatalf("%d tensors, %d payloads, %+v; want 88, 87 without the ids of requests, no problem", len(all.tensors), len(all.payloads), all.problems)
	}
	var program []string
	for _, at := range all.program {
		program = append(program, all.line(at))
	}
	for _, want := range []string{
		"input_ids.0.debug < Module.Module.forward.0",
		"layers.1.positions.0.debug < Module.model.layers.1.Module.forward.0",
		"Module.model.layers.0.self_attn.rotary_emb.Module.forward.1 < Module.model.layers.1.self_attn.Module.forward.0",
		"Module.model.layers.1.mlp.down_proj.Module.forward.0 < Module.model.layers.1.mlp.Module.forward.0",
	} {
		if !slices.Contains(program, want) {
			t.Errorf("the program lacks %q", want)
		}
	}
	if last := program[len(program)-1]; last != "Module.Module.forward.0 < " {
		t.Errorf("the last op is %q, want the model itself", last)
	}
	if got := fmt.Sprint(all.step.Step, *all.step.TokenCount, *all.step.RequestCount, all.step.OpCount, all.step.DroppedCount); got != fmt.Sprint(0, 17, 1, len(program), 0) {
		t.Errorf("step %s", got)
	}
	if rank := all.ranks[0]; rank.TP != 0 || rank.TPSize != 1 || rank.PPSize != 1 || rank.EPSize != 1 {
		t.Errorf("rank %+v", rank)
	}
	run := sglangdumper.RunRow(found, "a run", nil)
	if run.Engine != "sglang" || *run.WorldSize != 1 || !strings.Contains(run.Config, "tiny-llama") {
		t.Errorf("run %+v", run)
	}
}

func TestTheSameContentGivesTheSameMessagesAnywhere(t *testing.T) {
	t.Parallel()
	here, there := find(t, bench(t)), find(t, filepath.Dir(bench(t)))
	a, b := read(t, here.Dumps[1]), read(t, there.Dumps[1])
	if len(a.messages) != len(b.messages) {
		t.Fatalf("%d and %d messages", len(a.messages), len(b.messages))
	}
	for i := range a.messages {
		if a.messages[i].ID() != b.messages[i].ID() || !bytes.Equal(a.messages[i].Data, b.messages[i].Data) {
			t.Errorf("message %d: %s and %s", i, a.messages[i].ID(), b.messages[i].ID())
		}
	}
}

// named is a file that was saved under that name, with the content of another.
func named(tb testing.TB, dir string, content []byte, names ...string) {
	tb.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name+".pt"), content, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}

// anyContent is the content of some saved tensor.
func anyContent(tb testing.TB) []byte {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(bench(tb), "step=0*name=seq_lens*.pt"))
	if err != nil || len(files) != 1 {
		tb.Fatal(files, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		tb.Fatal(err)
	}
	return content
}

func TestNamesOfEveryAgeAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	named(t, dir, anyContent(t),
		"forward_pass_id=4___rank=1___dump_index=1___name=attn_out___layer_id=2",
		"curr_step=4___rank=1___dump_index=2___name=attn_out___layer_id=2",
		"step=4___rank=1___dump_index=3___name=attn_out___layer_id=2___head=7___tp_rank=0",
		"step=4___rank=1___dump_index=4___name=a___b",
		"step=4___rank=1___dump_index=5___name=grad__attn_out___layer_id=2",
		"step=4___rank=1___dump_index=6___name=param__model.norm.weight",
		"step=4___rank=1___dump_index=7___name=non_intrusive__encoder.output.output___recompute_status=recompute",
		"step=4___rank=1___dump_index=8___name=grad__non_intrusive__encoder.output.output",
	)
	all := read(t, find(t, dir).Dumps[0])
	var got []string
	for _, tensor := range all.tensors {
		site := all.sites[tensor.SiteID]
		op := all.ops[site.OpID]
		got = append(got, fmt.Sprintf("%s %s %s %s %d", op.Name, op.Phase, site.Role, site.Path, op.LayerIndex))
	}
	want := []string{
		"layers.2.attn_out.0.debug none output attn_out 2",
		"layers.2.attn_out.1.debug none output attn_out 2",
		"layers.2.attn_out[head=7].0.debug none output attn_out 2",
		"a___b.0.debug none output a___b -1",
		"layers.2.attn_out_grad.0.debug gradient output attn_out 2",
		"param__model.norm.weight.0.debug none parameter model.norm.weight -1",
		"Module.encoder.output.Module.forward.0 recompute output  -1",
		"Module.encoder.output.Module.backward.0 backward input  -1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestNumbersThatDoNotFitAreCountedAndNamed(t *testing.T) {
	t.Parallel()
	dir, content := t.TempDir(), anyContent(t)
	named(t, dir, content, "step=4294967296___rank=0___dump_index=1___name=a")
	if _, err := sglangdumper.Find(dir); err == nil || !strings.Contains(err.Error(), `step="4294967296" in its name is above the greatest that is kept, 4294967295`) {
		t.Errorf("Find = %v, want the file and the limit", err)
	}
	named(t, dir, content,
		"step=4294967295___rank=4294967295___dump_index=18446744073709551615___name=a",
		"step=0___rank=4294967296___dump_index=1___name=a",
		"step=0___rank=0___dump_index=18446744073709551616___name=a",
		"step=0___rank=0___dump_index=1___name=a___layer_id=2147483648")
	found := find(t, dir)
	if len(found.Dumps) != 1 || found.Dumps[0].Step != 4294967295 || found.Dumps[0].Rank != 4294967295 {
		t.Errorf("dumps %+v, want the one of the greatest numbers", found.Dumps)
	}
	problems := strings.Join(found.Problems.First, "\n")
	for _, want := range []string{"kept, 4294967295", "kept, 18446744073709551615", "kept, 2147483647"} {
		if !strings.Contains(problems, want) || found.Problems.Count != 4 {
			t.Errorf("%d problems, want 4, and %q in\n%s", found.Problems.Count, want, problems)
		}
	}
}

func TestFilesThatCannotBeReadAreCountedAndNamed(t *testing.T) {
	t.Parallel()
	dir, content := t.TempDir(), anyContent(t)
	named(t, dir, content, "step=0___rank=0___dump_index=1___name=good", "step=0___rank=0___dump_index=5___name=good", "step=0___rank=0___dump_index=5___name=same")
	named(t, dir, content[:500], "step=0___rank=0___dump_index=2___name=cut")
	named(t, dir, nil, "step=0___rank=0___dump_index=3___name=empty")
	named(t, dir, []byte("\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R."), "step=0___rank=0___dump_index=4___name=code")
	named(t, dir, content, "step=0___rank=x___dump_index=6___name=odd", "other")
	found := find(t, dir)
	if found.Problems.Count != 2 || !strings.Contains(strings.Join(found.Problems.First, "\n"), `rank="x" in its name is no number`) {
		t.Errorf("names: %+v", found.Problems)
	}
	all := read(t, found.Dumps[0])
	if all.problems.Count != 4 || all.step.DroppedCount != 3 || len(all.tensors) != 3 || all.step.OpCount != 6 {
		t.Errorf("%+v, %d dropped, %d tensors, %d ops; want 4 problems, 3, 3, 6", all.problems, all.step.DroppedCount, len(all.tensors), all.step.OpCount)
	}
	for i, want := range []string{"name=cut", "name=empty", "name=code", "same dump_index"} {
		if i >= len(all.problems.First) || !strings.Contains(all.problems.First[i], want) {
			t.Errorf("problem %d lacks %q: %q", i, want, all.problems.First)
		}
	}
}

func TestAFolderWithoutADumpSaysSo(t *testing.T) {
	t.Parallel()
	two := t.TempDir()
	for _, name := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(two, name), 0o700); err != nil {
			t.Fatal(err)
		}
		named(t, filepath.Join(two, name), nil, "step=0___rank=0___dump_index=3___name=empty")
	}
	for path, want := range map[string]string{
		t.TempDir(): "no file step=N", two: "2 dumps are below, choose one", filepath.Join(two, "none"): "no such file", "sglangdumper.go": "a file, where its folder is wanted",
	} {
		if _, err := sglangdumper.Find(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Find(%s): %v, want %q", path, err, want)
		}
	}
}

func TestAFileThatIsBeingWrittenEndsTheReading(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	named(t, dir, anyContent(t), "step=0___rank=0___dump_index=1___name=good")
	source, err := sglangdumper.Open(find(t, dir).Dumps[0], "a run", nil)
	if err != nil {
		t.Fatal(err)
	}
	named(t, dir, nil, "step=0___rank=0___dump_index=1___name=good")
	if err := drain(t.Context(), source); err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("reading: %v", err)
	}
}

func drain(ctx context.Context, source *sglangdumper.Source) error {
	for _, err := range source.Batches(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestValuesOfEveryKindAreKept(t *testing.T) {
	t.Parallel()
	all := read(t, find(t, "testdata/kinds").Dumps[0])
	var got []string
	for _, tensor := range all.tensors {
		site, layout := all.sites[tensor.SiteID], all.layouts[tensor.LayoutID]
		got = append(got, fmt.Sprint(site.Path, " ", layout.Kind, " ", layout.Dtype, " ", layout.Shape, " ", layout.Literal, " ", layout.Placement, " ", tensor.ValueMax, " ", tensor.NaNCount))
	}
	want := []string{
		"hidden tensor torch.float32 [2 3]  b s h[tp] # dp:=moe_dp 5 0",
		"bare tensor torch.float32 [2]   2 1",
		"nested.parts.0 tensor torch.float32 [2]   1 0",
		"nested.parts.1.0 int  [] 3  3 0",
		"nested.parts.1.1 none  []   0 0",
		"nested.parts.1.2 str  [] x  0 0",
		"nested.flag bool  [] True  0 0",
		"nested.scale float  [] 0.5  0.5 0",
		"nested.7 dtype  [] torch.bfloat16  0 0",
		"empty tensor torch.int64 [0 4]   0 0",
	}
	if !slices.Equal(got, want) || all.problems.Count != 0 {
		t.Errorf("%+v\ngot\n%s\nwant\n%s", all.problems, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if rank := all.ranks[0]; rank.TP != 1 || rank.TPSize != 2 || rank.DPSize != 1 || rank.Rank != 1 {
		t.Errorf("rank %+v", rank)
	}
}
