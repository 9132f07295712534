package families_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/mapping/families"
)

var update = flag.Bool("update", false, "write the attributes of engines' modules, of their source below TENSORTAP_ENGINES") //nolint:gochecknoglobals // a flag of the test binary

func TestTransformersHasTheModulesOfTheMaps(t *testing.T) {
	t.Parallel()
	for _, f := range all(t) {
		modules := lines(t, filepath.Join("testdata/modules/transformers", f.Name+".txt"))
		for _, name := range pathsOf(&f, families.Transformers) {
			path := strings.ReplaceAll(name, "<n>", "0")
			if !isOfAnother(f.Name, name) && !slices.ContainsFunc(modules, func(m string) bool { return strings.HasPrefix(m, path+" ") }) {
				t.Errorf("%s: Transformers has no %s", f.Name, path)
			}
		}
	}
}

// isOfAnother says whether a module is one of the family that this one is like, and that this one lacks.
func isOfAnother(family, path string) bool {
	above, last, _ := cutLast(path)
	switch family {
	case "gemma2": // Gemma 3 alone, which the list of Gemma 2 does not have
		return last == "q_norm" || last == "k_norm"
	case "mixtral":
		return strings.HasSuffix(above, ".mlp") && last != "gate" && last != "experts" || strings.HasSuffix(path, ".mlp")
	case "qwen3-moe":
		return strings.HasSuffix(above, ".mlp") && slices.Contains([]string{"gate_proj", "up_proj", "down_proj", "act_fn"}, last)
	case "deepseek-v3":
		return slices.Contains([]string{"q_proj", "k_proj", "v_proj", "qkv_proj", "attn"}, last) ||
			strings.HasSuffix(above, ".mlp") && slices.Contains([]string{"gate_proj", "up_proj", "down_proj", "act_fn"}, last)
	}
	return false
}

func cutLast(path string) (above, last string, found bool) {
	at := strings.LastIndexByte(path, '.')
	if at < 0 {
		return "", path, false
	}
	return path[:at], path[at+1:], true
}

// TestEnginesHaveTheModulesOfTheMaps holds the maps against lists of the attributes that the engines' modules have, and,
// where TENSORTAP_ENGINES names the folder of the engines, the lists against their source.
func TestEnginesHaveTheModulesOfTheMaps(t *testing.T) {
	t.Parallel()
	engines := os.Getenv("TENSORTAP_ENGINES")
	for _, engine := range []families.Implementation{families.VLLM, families.SGLang} {
		for _, f := range all(t) {
			file := filepath.Join("testdata/modules", string(engine), f.Name+".txt")
			if engines != "" {
				holdAgainstSource(t, file, attributes(t, engines, engine, f.Name))
			}
			known := lines(t, file)
			for _, path := range pathsOf(&f, engine) {
				if isOfAnother(f.Name, path) {
					continue
				}
				for part := range strings.SplitSeq(path, ".") {
					if part != "<n>" && !slices.Contains(known, part) {
						t.Errorf("%s: no module of %s has an attribute %s, of %s", f.Name, engine, part, path)
					}
				}
			}
		}
	}
}

func holdAgainstSource(t *testing.T, file string, found []string) {
	t.Helper()
	text := strings.Join(found, "\n") + "\n"
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // of this repository
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(lines(t, file), "\n") + "\n"; got != text {
		t.Errorf("%s is not what the source says, which has %v", file, found)
	}
}

func all(tb testing.TB) []families.Family {
	tb.Helper()
	list, err := families.All()
	if err != nil || len(list) < 10 {
		tb.Fatal(list, err)
	}
	return list
}

func lines(tb testing.TB, path string) []string {
	tb.Helper()
	content, err := os.ReadFile(path) //nolint:gosec // of this repository
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// pathsOf are the modules that the lines of a family name, parts of lists one by one.
func pathsOf(f *families.Family, one families.Implementation) []string {
	paths := map[string]bool{}
	add := func(text string) {
		path, _, _ := strings.Cut(text, " ")
		if head, list, found := strings.Cut(text, "["); found {
			for part := range strings.SplitSeq(strings.TrimSuffix(list, "]"), ",") {
				paths[head+strings.TrimSpace(part)] = true
			}
			return
		}
		if path != "" && path != "-" {
			paths[path] = true
		}
	}
	for _, section := range [][]families.Line{f.Modules, f.Values, f.Streams} {
		for _, l := range section {
			add(l[one])
		}
	}
	for _, text := range slices.Concat(f.Casts[one], f.Sums[one]) {
		add(text)
	}
	for _, a := range f.Apart {
		for _, text := range a.Lines[one] {
			add(text)
		}
	}
	return slices.Sorted(maps.Keys(paths))
}

// attributes are those that modules of a family have in the source of an engine: set to what a call made.
func attributes(tb testing.TB, engines string, engine families.Implementation, family string) []string {
	tb.Helper()
	folder := map[families.Implementation]string{families.VLLM: "vllm/model_executor/models", families.SGLang: "sglang/srt/models"}[engine]
	found, seen := map[string]bool{}, map[string]bool{}
	for _, file := range filesOf(family) {
		readAttributes(filepath.Join(engines, string(engine), "lib/python3.11/site-packages", folder), file, found, seen)
	}
	return slices.Sorted(maps.Keys(found))
}

// filesOf are the files of a family's models.
func filesOf(family string) []string {
	switch family {
	case "deepseek-v3":
		return []string{"deepseek_v2"}
	case "gemma2":
		return []string{"gemma2", "gemma3", "gemma3_causal"}
	}
	return []string{strings.ReplaceAll(family, "-", "_")}
}

var (
	assigned = regexp.MustCompile(`(?m)^\s+(self\.\w+(?:, self\.\w+)*)(?:: [^=\n]+)? = [\w.]*\(`)
	name     = regexp.MustCompile(`self\.(\w+)`)
	imported = regexp.MustCompile(`(?m)^from (?:\.|vllm\.model_executor\.models\.|sglang\.srt\.models\.)(\w+) import`)
)

// readAttributes reads a file and those beside it that it imports.
func readAttributes(folder, file string, found, seen map[string]bool) {
	if seen[file] {
		return
	}
	seen[file] = true
	content, err := os.ReadFile(filepath.Join(folder, file+".py")) //nolint:gosec // where the engines are
	if err != nil {
		return // imported of elsewhere
	}
	for _, line := range assigned.FindAllStringSubmatch(string(content), -1) {
		for _, attribute := range name.FindAllStringSubmatch(line[1], -1) {
			found[attribute[1]] = true
		}
	}
	for _, other := range imported.FindAllStringSubmatch(string(content), -1) {
		readAttributes(folder, other[1], found, seen)
	}
}
