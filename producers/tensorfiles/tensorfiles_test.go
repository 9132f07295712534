package tensorfiles_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/tensorfiles"
	"github.com/tensortap/tensortap/schemas"
)

const saved = "testdata/saved"

// facts are the tensors of all dumps at a path, a line each, and the problems.
func facts(t *testing.T, path string) ([]string, producers.Problems) {
	t.Helper()
	found, err := tensorfiles.Tool().Find(path)
	if err != nil {
		t.Fatal(err)
	}
	ops, sites, layouts := map[uint64]string{}, map[uint64]schemas.SiteRow{}, map[uint64]schemas.LayoutRow{}
	var lines []string
	read := found.Reader("a run", producers.Rows{
		Op:     func(o *schemas.OpRow) { ops[o.OpID] = o.Name },
		Site:   func(s *schemas.SiteRow) { sites[s.SiteID] = *s },
		Layout: func(l *schemas.LayoutRow) { layouts[l.LayoutID] = *l },
		Tensor: func(r *schemas.TensorRow) {
			s, l := sites[r.SiteID], layouts[r.LayoutID]
			lines = append(lines, fmt.Sprintf("rank %d step %d %s %s %s%v%s NaN %d infinite %d max %v",
				r.Rank, r.Step, ops[s.OpID], s.Path, cmp.Or(l.Dtype, l.Kind), l.Shape, l.Literal, r.NaNCount, r.PositiveInfinityCount, r.ValueMax))
		},
	})
	problems := found.Problems
	for i := range found.Dumps {
		more, err := read(t.Context(), i, nil)
		if err != nil {
			t.Fatal(err)
		}
		problems.First = append(problems.First, more.First...)
		problems.Count += more.Count
	}
	return lines, problems
}

func TestSavedTensorsAreReadByTheirNames(t *testing.T) {
	t.Parallel()
	got, problems := facts(t, saved)
	want := `rank 0 step 0 forward_input.0.debug forward_input torch.float32[2 3] NaN 0 infinite 0 max 0
rank 0 step 0 nan_debug.0.debug nan_debug.hidden torch.float32[3] NaN 1 infinite 1 max 1
rank 0 step 0 nan_debug.0.debug nan_debug.scale float[]0.5 NaN 0 infinite 0 max 0.5
rank 0 step 0 nan_debug.0.debug nan_debug.note str[]first NaN NaN 0 infinite 0 max 0
rank 0 step 0 nan_debug.0.debug nan_debug.seen.0 torch.float32[2] NaN 0 infinite 0 max 1
rank 0 step 0 nan_debug.0.debug nan_debug.seen.1 none[] NaN 0 infinite 0 max 0
rank 0 step 0 state.0.debug state.weight torch.float32[2 3] NaN 0 infinite 0 max ?
rank 0 step 0 state.0.debug state.bias torch.float32[2] NaN 0 infinite 0 max ?
rank 0 step 1 forward_input.0.debug forward_input torch.float32[2 3] NaN 0 infinite 0 max 1
rank 0 step 7 two.0.debug two.a torch.int64[3] NaN 0 infinite 0 max 2
rank 0 step 7 two.0.debug two.b torch.bfloat16[4] NaN 0 infinite 0 max 0
rank 1 step 7 Module.model.layers.0.mlp.Module.forward.0  torch.float32[2 2] NaN 0 infinite 0 max 1
rank 1 step 7 Module.model.layers.1.attn.Module.forward.0 0 torch.float32[1] NaN 0 infinite 0 max 1
rank 1 step 7 Module.model.layers.1.attn.Module.forward.0 1 torch.float32[1] NaN 0 infinite 0 max 0
rank 1 step 7 Module.m.forward_batch_info.input_ids.Module.forward.0  torch.int64[5] NaN 0 infinite 0 max 4
rank 1 step 7 logits.0.debug logits torch.float64[2 3] NaN 0 infinite 0 max 5
rank 0 step 10 forward_input.0.debug forward_input torch.float32[2 3] NaN 0 infinite 0 max 10
rank 0 step 100 layer.0.qkv_weight.0.debug layer.0.qkv_weight.high_precision torch.float32[1] NaN 0 infinite 0 max 1.5
rank 0 step 100 layer.0.qkv_weight.0.debug layer.0.qkv_weight.quantized torch.float8_e4m3fn[1] NaN 0 infinite 0 max 1.5`
	for i, line := range got {
		if strings.Contains(line, "state.") { // its weights are random
			got[i] = line[:strings.LastIndex(line, " ")] + " ?"
		}
	}
	if text := strings.Join(got, "\n"); text != want || problems.Count > 0 {
		t.Errorf("got\n%s\nproblems %v, want\n%s", text, problems, want)
	}
}

func TestOneFileIsReadAlone(t *testing.T) {
	t.Parallel()
	if got, problems := facts(t, filepath.Join(saved, "nan_debug.pt")); len(got) != 5 || problems.Count > 0 {
		t.Errorf("%d tensors, problems %v, want 5 and none", len(got), problems)
	}
}

func TestDamagedFilesAreCountedAndTheOthersKept(t *testing.T) {
	t.Parallel()
	whole, _ := facts(t, saved)
	for _, name := range []string{"nan_debug.pt", "two_step7.safetensors", "logits_rank1_step7.npy", "TP1_PP0_Rank1_pid77/Pass00007.pt"} {
		content, err := os.ReadFile(filepath.Join(saved, name))
		if err != nil {
			t.Fatal(err)
		}
		own, _ := facts(t, filepath.Join(saved, name))
		for at := 0; at < len(content); at += 100 {
			checkDamaged(t, name, content[:at], len(whole)-len(own))
			changed := append([]byte(nil), content...)
			changed[at] ^= 0x5a
			checkDamaged(t, name, changed, len(whole)-len(own))
		}
	}
}

// checkDamaged reads the folder with other content of a file: what the others hold is there, and what is missing of the
// file is counted.
func checkDamaged(t *testing.T, name string, content []byte, others int) {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.CopyFS(dir, os.DirFS(saved)), os.WriteFile(filepath.Join(dir, name), content, 0o600)); err != nil {
		t.Fatal(err)
	}
	got, problems := facts(t, dir)
	if len(got) < others || (len(got) == others) != (problems.Count == 1) {
		t.Errorf("%s of %d bytes: %d tensors, problems %v, want the %d of the others and the loss counted", name, len(content), len(got), problems, others)
	}
}

func TestTheSameFilesAreTheSameDumps(t *testing.T) {
	t.Parallel()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(saved)); err != nil {
		t.Fatal(err)
	}
	first, second := digests(t, saved), digests(t, copied)
	if fmt.Sprint(first) != fmt.Sprint(second) || len(first) != 6 {
		t.Errorf("digests %v and %v, want the same six", first, second)
	}
}

func digests(t *testing.T, path string) (all []string) {
	t.Helper()
	found, err := tensorfiles.Tool().Find(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found.Dumps {
		source, err := d.Open("a run", nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%d %d %016x", d.Rank, d.Step, source.Digest))
	}
	return all
}

func TestAPipeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.CopyFS(dir, os.DirFS(saved)), syscall.Mkfifo(filepath.Join(dir, "pipe.pt"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, problems := facts(t, dir); problems.Count != 1 || !strings.Contains(problems.First[0], "no file that can be read") {
		t.Errorf("problems %v, want the pipe", problems)
	}
}

func TestAPlaceWithoutTensorsIsSaid(t *testing.T) {
	t.Parallel()
	if _, err := tensorfiles.Tool().Find(t.TempDir()); !errors.Is(err, tensorfiles.ErrNoDump) || !strings.Contains(err.Error(), ".safetensors") {
		t.Errorf("Find of an empty folder = %v", err)
	}
	if _, err := tensorfiles.Tool().Find("testdata/missing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Find of no folder = %v", err)
	}
}

func TestAFileThatChangesWhileItIsReadIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(saved)); err != nil {
		t.Fatal(err)
	}
	found, err := tensorfiles.Tool().Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	source, err := found.Dumps[0].Open("a run", nil)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "nan_debug.pt"), nil, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := drained(t.Context(), source); err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("Batches = %v, want an error", err)
	}
}

func drained(ctx context.Context, source producers.Source) error {
	for _, err := range source.Content.Batches(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}
