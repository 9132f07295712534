package msprobe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/schemas"
)

// dumpOf writes a dump.json into a folder of its own.
func dumpOf(tb testing.TB, text string) Dump {
	tb.Helper()
	dir := tb.TempDir()
	write(tb, dir, dumpFile, text)
	return Dump{Dir: dir}
}

func write(tb testing.TB, dir, name, text string) {
	tb.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// indented is a dump of three ops in msProbe's format; %s is the place of the second op's entry.
const indented = `{
 "task": "statistics",
 "level": "mix",
 "framework": "pytorch",
 "dump_data_dir": null,
 "data": {
  "Torch.a.0.forward": {
   "input_args": [
    {
     "type": "int",
     "value": 1
    }
   ],
   "output": [
    null
   ]
  },
  "Torch.b.0.forward": %s,
  "Torch.c.0.forward": {
   "input_args": [
    {
     "type": "int",
     "value": 3
    }
   ],
   "output": []
  }
 }
}`

const compactText = `{"task": "statistics", "level": "L1", "dump_data_dir": null, "data": {` +
	`"Torch.a.0.forward": {"input_args": [{"type": "int", "value": 1}], "output": [null]}, ` +
	`"Torch.b.0.forward": %s, ` +
	`"Torch.c.0.forward": {"input_args": [{"type": "int", "value": 3}], "output": []}}}`

func opNames(all rows) []string {
	var names []string
	for _, o := range all.ops {
		names = append(names, o.Name)
	}
	return names
}

func TestADamagedOpCostsOnlyItself(t *testing.T) {
	t.Parallel()
	damages := map[string]string{
		"a word":                     `{"input_args": [nonsense], "output": []}`,
		"a missing bracket":          "{\n   \"input_args\": [\n    {\n     \"type\": \"int\"\n    }\n   \n  }",
		"a missing brace":            "{\n   \"input_args\": [\n    {\n     \"type\": \"int\"\n    }\n   ]",
		"a torn string":              "{\n   \"input_args\": [\n    {\n     \"type\": \"in\n    }\n   ]\n  }",
		"a hole":                     "{\n   \"input_args\": [\n    {\n     \"type\": \"torch.Ten\x00\x00\x00\x00\x00\n    }\n   ]\n  }",
		"a missing value":            `{"input_args": , "output": []}`,
		"too deep":                   `{"input_args": ` + strings.Repeat("[", 1200) + strings.Repeat("]", 1200) + `}`,
		"a doubled comma":            `{"input_args": [1,,2]}`,
		"a long text":                `{"input_args": [{"type": "str", "value": "` + strings.Repeat("x", maxTextBytes+10) + `"}]}`,
		"a long nest":                `{"input_args": [{"type": "x", "value": [` + strings.Repeat("1234567,", 200000) + `1]}]}`,
		"a long number":              `{"input_args": [{"type": "int", "value": ` + strings.Repeat("1", maxTextBytes+10) + `}]}`,
		"an op in the middle of one": "{\n   \"input_args\": [\n    {\n     \"type\": \"int\",",
	}
	for name, damage := range damages {
		for form, text := range map[string]string{"indented": indented, "compact": compactText} {
			t.Run(name+" in "+form+" text", func(t *testing.T) {
				t.Parallel()
				all := readAll(t, dumpOf(t, fmt.Sprintf(text, damage)), 100)
				if got, want := opNames(all), []string{"Torch.a.0.forward", "Torch.c.0.forward"}; !slices.Equal(got, want) {
					t.Errorf("ops %q, want %q; problems %v", got, want, all.problems.First)
				}
				if len(all.tensors) != 3 || all.tensors[2].ValueMax != 3 {
					t.Errorf("%d rows of tensor, want the 3 of the good ops", len(all.tensors))
				}
				if s := all.steps[0]; s.DroppedCount != 1 || s.DropReason == "" || s.Complete != 1 {
					t.Errorf("step %+v, want 1 dropped with a reason, complete", s)
				}
				if p := all.problems; p.Count != 1 || p.First[0].File != dumpFile || p.First[0].Op != "Torch.b.0.forward" || p.First[0].Offset <= 0 {
					t.Errorf("problems %v, want one that names file, offset and op", p.First)
				}
				references(t, all)
			})
		}
	}
}

func TestAFileCutAnywhereKeepsTheOpsBeforeTheCut(t *testing.T) {
	t.Parallel()
	text := fmt.Sprintf(indented, `{"output": [{"type": "int", "value": 2}]}`)
	ends := []int{strings.Index(text, "},\n  \"Torch.b"), strings.Index(text, "},\n  \"Torch.c"), strings.LastIndex(text, "\n }\n}") - 1}
	for cut := range len(text) - 1 {
		all := readAll(t, dumpOf(t, text[:cut]), 100)
		want := 0
		for _, end := range ends {
			if cut > end {
				want++
			}
		}
		if len(all.ops) != want || all.steps[0].Complete != 0 || all.problems.Count == 0 {
			t.Fatalf("cut at %d: %d ops, step %+v, problems %v; want %d ops, not complete", cut, len(all.ops), all.steps[0], all.problems.First, want)
		}
	}
}

func TestDamageBetweenOpsIsCountedOnlyWhenTextIsLost(t *testing.T) {
	t.Parallel()
	whole := fmt.Sprintf(indented, `{"output": []}`)
	for name, c := range map[string]struct {
		text    string
		ops     int
		dropped uint64
	}{
		"no comma":          {strings.Replace(whole, "},\n  \"Torch.b", "}\n  \"Torch.b", 1), 3, 0},
		"a line of rubbish": {strings.Replace(whole, "  \"Torch.b", "rubbish here\n  \"Torch.b", 1), 3, 1},
		"a torn name":       {strings.Replace(whole, "Torch.b.0", "Torch.b\n", 1), 2, 1},
		"a torn beginning":  {"\x00\x00\x00\x00" + whole[9:], 3, 1},
		"text behind":       {whole + "\nmore", 3, 0},
		"a second document": {whole + whole, 3, 0},
		"a torn head":       {strings.Replace(whole, `"level": "mix"`, `"level": "mi`, 1), 3, 0},
		"an op twice":       {strings.Replace(whole, "Torch.c.", "Torch.a.", 1), 2, 1},
	} {
		all := readAll(t, dumpOf(t, c.text), 100)
		if len(all.ops) != c.ops || all.steps[0].DroppedCount != c.dropped || all.problems.Count != 1 {
			t.Errorf("%s: %d ops, %d dropped, problems %v; want %d, %d, one", name, len(all.ops), all.steps[0].DroppedCount, all.problems.First, c.ops, c.dropped)
		}
	}
}

func TestTextsThatAreNoDumpAreIncompleteSteps(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " ", "null", "[]", "{}", `{"data": 3}`, `{"data": [`, "\x00\x01", `"`, strings.Repeat("[", 5000)} {
		all := readAll(t, dumpOf(t, text), 100)
		if len(all.ops) != 0 || all.steps[0].Complete != 0 || all.problems.Count == 0 {
			t.Errorf("%.20q: %d ops, step %+v, problems %v; want none, not complete, one", text, len(all.ops), all.steps[0], all.problems.First)
		}
	}
}

func TestDamageInStacksAndParentsLeavesTheOpsWhole(t *testing.T) {
	t.Parallel()
	dump := dumpOf(t, fmt.Sprintf(indented, `{}`))
	write(t, dump.Dir, stackFile, `{"0": [["Torch.a.0.forward"], ["File x"]], "1": [["Torch.b.0.forw`)
	write(t, dump.Dir, constructFile, `{"Torch.a.0.forward": "Module.m.M.forward.0", "Torch.b.0.forward": 5, "Torch.c.0.forward": nul`)
	all := readAll(t, dump, 100)
	if len(all.ops) != 4 || len(all.stacks) != 1 || all.problems.Count != 2 || all.steps[0].Complete != 1 {
		t.Errorf("%d ops, %d stacks, problems %v; want 3 ops and a parent, 1, two", len(all.ops), len(all.stacks), all.problems.First)
	}
	if all.programs[0].ParentOpID != schemas.OpID("Module.m.M.forward.0") {
		t.Error("the parent before the damage is lost")
	}
	references(t, all)
}

func TestHostileNamesArePreserved(t *testing.T) {
	t.Parallel()
	names := []string{"", ".", "...", "a", ".forward", "Module", "Module.", "Module..forward.0", "Tensor.forward", "日本語.0.forward", strings.Repeat("n", 1000000), "\u0000\u001f", "x\ufffdy"}
	var text strings.Builder
	text.WriteString(`{"data": {`)
	for i, name := range names {
		if i > 0 {
			text.WriteString(",")
		}
		quoted := strings.NewReplacer("\x00", `\u0000`, "\x1f", `\u001f`, "\ufffd", `\ud800`).Replace(name)
		fmt.Fprintf(&text, `"%s": {"input_args": [null], "input_kwargs": {"%s": null}}`, quoted, quoted)
	}
	text.WriteString("}}")
	all := readAll(t, dumpOf(t, text.String()), 100)
	if got := opNames(all); !slices.Equal(got, names) {
		t.Errorf("%d names, want %d as they were; problems %v", len(got), len(names), all.problems.First)
	}
	if len(all.tensors) != 2*len(names) {
		t.Errorf("%d rows of tensor, want %d", len(all.tensors), 2*len(names))
	}
}

func TestAMillionLongNamesStayWithinAMessage(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(`{"data": {"a": null`)
	for i := range 20 {
		fmt.Fprintf(&text, `, "%d%s": null`, i, noise(900000, uint64(i)))
	}
	text.WriteString("}}")
	all := readAll(t, dumpOf(t, text.String()), 8192)
	for _, m := range all.messages {
		if len(m.Data) > schemas.MaxMessageBytes {
			t.Errorf("message %s has %d bytes, limit %d", m.ID(), len(m.Data), schemas.MaxMessageBytes)
		}
	}
	if len(all.ops) != 21 {
		t.Errorf("%d ops, want 21", len(all.ops))
	}
}

// noise is text that does not compress.
func noise(n int, seed uint64) string {
	b := make([]byte, n)
	for i := range b {
		seed = seed*6364136223846793005 + 1442695040888963407
		b[i] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[seed>>58]
	}
	return string(b)
}

func TestReadingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	dump := dumpOf(t, fmt.Sprintf(indented, `{}`))
	source, err := Open(dump, DefaultOptions("a run"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("enough"))
	var last error
	for _, err := range source.Batches(ctx) {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "enough") {
		t.Errorf("last error %v, want the cause", last)
	}
	for _, err := range source.Batches(t.Context()) {
		if err != nil {
			t.Error(err)
		}
		break // the caller may stop at any message
	}
}

func TestAFileThatChangesWhileItIsReadIsRefused(t *testing.T) {
	t.Parallel()
	dump := dumpOf(t, fmt.Sprintf(indented, `{}`))
	source, err := Open(dump, DefaultOptions("a run"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, dump.Dir, dumpFile, fmt.Sprintf(indented, `{"output": []}`))
	var last error
	steps := 0
	for m, err := range source.Batches(t.Context()) {
		last = err
		if m.Header.Kind == "step" {
			steps++
		}
	}
	if last == nil || !strings.Contains(last.Error(), "changed") || steps > 0 {
		t.Errorf("error %v and %d steps, want that it changed and no step", last, steps)
	}
}
