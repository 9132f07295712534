package msprobedump_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers/msprobe"
)

// dumps are recorded by msProbe itself; with each, the verdict of holding it against its export. Not a number equals
// nothing, so of a dump with some nothing can be said.
func dumps() map[string]report.Verdict {
	return map[string]report.Verdict{
		"A_llama_L0_statistics": report.Same, "A_llama_L1_statistics": report.Same, "A_llama_mix_md5": report.Same, "A_llama_mix_xor": report.Same,
		"A_llama_mix_noextra": report.Same, "A_llama_mix_tensor_mlp1": report.Same, "D_ddp_golden": report.Same,
		"A_llama_mix_structure": report.Unknown, "B14_nan_l2_mlp_step1_mix": report.Unknown,
	}
}

// asExported is a file of ops without what is not stored: where raw tensors lie, so that a dump of statistics remains,
// empty objects in lists, which have no row, and the element that msProbe writes for the digest of a scalar.
func asExported(text string) string {
	text = regexp.MustCompile(`,\n +"data_name": "[^"]*"`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`"dump_data_dir": "[^"]*"`).ReplaceAllString(text, `"dump_data_dir": null`)
	text = strings.Replace(text, `"task": "tensor"`, `"task": "statistics"`, 1)
	text = regexp.MustCompile(` +"md5": -?[0-9.e+-]+,\n`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`(,\n +\{\})+(\n +\])`).ReplaceAllString(text, "$2")
	text = regexp.MustCompile(`\[(\n +\{\})\n +\]`).ReplaceAllString(text, "[]")
	return regexp.MustCompile(`(?m)^( +)\{\}(,?)$`).ReplaceAllString(text, "$1[]$2")
}

func TestWhatMsprobeDumpedIsExportedAsItWas(t *testing.T) {
	t.Parallel()
	cfg := system.DefaultConfig("", time.Now)
	cfg.Library, cfg.Command = testbed.Library(t), testbed.Command(t)
	err := system.WithTemporary(t.Context(), t.TempDir(), cfg, func(ctx context.Context, c *system.Client) error {
		for _, name := range slices.Sorted(maps.Keys(dumps())) {
			original, exported := recorded.Unpack(t, name), filepath.Join(t.TempDir(), "dump")
			if err := throughTheStore(ctx, c, name, original, exported); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			requireSameFiles(t, name, original, exported)
			requireSame(ctx, t, c, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// throughTheStore publishes a dump, exports the run, and publishes the export as another.
func throughTheStore(ctx context.Context, c *system.Client, name, original, exported string) error {
	nothing := func(int64, int64) {}
	if _, err := c.Publish(ctx, msprobe.Tool(), system.PublishRequest{Path: original, Run: name}, nothing); err != nil {
		return err
	}
	if err := c.WaitStored(ctx); err != nil {
		return err
	}
	r := system.DefaultExportRequest()
	r.Run, r.Dir = name, exported
	result, err := c.ExportMsprobe(ctx, r, nothing)
	if err != nil {
		return err
	}
	if result.Unplaced > 0 || result.Dumps == 0 {
		return fmt.Errorf("export: %+v", result)
	}
	if _, err := c.Publish(ctx, msprobe.Tool(), system.PublishRequest{Path: exported, Run: name + " again"}, nothing); err != nil {
		return err
	}
	return c.WaitStored(ctx)
}

// requireSame demands that a comparison finds both runs the same, with nothing on one side only.
func requireSame(ctx context.Context, t *testing.T, c *system.Client, name string) {
	t.Helper()
	r := system.DefaultCompareRequest()
	r.Problem, r.Benches = name+" again", []string{name}
	answer, _, err := c.Compare(ctx, r)
	if err != nil {
		t.Errorf("%s: compare: %v", name, err)
		return
	}
	paired, alone := answer.Summary.Sum("paired_count"), answer.Summary.Sum("only_problem_count")+answer.Summary.Sum("only_bench_count")
	if answer.Verdict != dumps()[name] || alone > 0 || (paired == 0) != strings.Contains(name, "structure") {
		t.Errorf("%s: verdict %v, want %v; %d pairs, %d on one side only", name, answer.Verdict, dumps()[name], paired, alone)
	}
}

// requireSameFiles holds the files of every step and rank against the originals. Their order is that of names, of
// steps first; folders of processes are those of ranks in an export.
func requireSameFiles(t *testing.T, name, original, exported string) {
	t.Helper()
	was, is := files(t, original, "dump.json"), files(t, exported, "dump.json")
	if len(was) != len(is) || len(was) == 0 {
		t.Errorf("%s: %d dumps were exported, of %d", name, len(is), len(was))
		return
	}
	for i := range was {
		want, got := asExported(read(t, was[i])), read(t, is[i])
		if want != got {
			t.Errorf("%s: %s differs from %s: %s", name, is[i], was[i], firstDifference(want, got))
		}
		requireSameStructure(t, filepath.Dir(was[i]), filepath.Dir(is[i]))
	}
}

// requireSameStructure demands the same stack and the same parent for every op. Of a module that msProbe names only as
// a parent, nothing is stored but its name.
func requireSameStructure(t *testing.T, was, is string) {
	t.Helper()
	wantStacks, gotStacks := stacks(t, was), stacks(t, is)
	for op, frames := range gotStacks {
		if wantStacks[op] != frames {
			t.Errorf("%s: stack of %s\n%s\nwas\n%s", is, op, frames, wantStacks[op])
			return
		}
	}
	want, got, ran := parents(t, was), parents(t, is), map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^  "([^"]+)": \{`).FindAllStringSubmatch(read(t, filepath.Join(is, "dump.json")), -1) {
		ran[m[1]] = true
	}
	for op, parent := range got {
		if was, known := want[op]; !known || was != parent && (parent != "" || ran[op]) {
			t.Errorf("%s: parent of %s is %q, was %q", is, op, parent, want[op])
			return
		}
	}
	if len(want) == len(got) && !slices.Equal(keys(t, was), keys(t, is)) { // of a dump of some ops, others that ran lie between
		t.Errorf("construct.json of %s is in another order than that of %s", is, was)
	}
	if exists(was, "construct.json") != exists(is, "construct.json") || exists(was, "stack.json") != exists(is, "stack.json") {
		t.Errorf("%s has not the files that %s has", is, was)
	}
}

func stacks(t *testing.T, dir string) map[string]string {
	t.Helper()
	groups := map[string][2][]string{}
	decode(t, filepath.Join(dir, "stack.json"), &groups)
	found := map[string]string{}
	for _, g := range groups {
		for _, op := range g[0] {
			found[op] = strings.Join(g[1], "\n")
		}
	}
	return found
}

func parents(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	decode(t, filepath.Join(dir, "construct.json"), &found)
	return found
}

// keys are the ops of construct.json in their order.
func keys(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	if exists(dir, "construct.json") {
		for _, m := range regexp.MustCompile(`(?m)^ "([^"]+)":`).FindAllStringSubmatch(read(t, filepath.Join(dir, "construct.json")), -1) {
			found = append(found, m[1])
		}
	}
	return found
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

func decode(t *testing.T, path string, into any) {
	t.Helper()
	if !exists(filepath.Dir(path), filepath.Base(path)) {
		return
	}
	if err := json.Unmarshal([]byte(read(t, path)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func files(t *testing.T, dir, name string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "step*", "*", name))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.ToValidUTF8(data, []byte("?")))
}

func firstDifference(want, got string) string {
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	from := max(at-300, 0)
	return fmt.Sprintf("at byte %d\nwant %q\ngot  %q", at, want[from:min(at+80, len(want))], got[from:min(at+80, len(got))])
}
