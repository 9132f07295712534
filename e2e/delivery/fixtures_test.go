package delivery

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/soak"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// counted is what a dump of one rank and step holds: ops, tensors, other arguments, payloads, tensors with NaN.
type counted string

// place is a rank and step of a run.
type place struct{ run, step, rank string }

// ofEachKind are recorded dumps of each way to record; make soak takes all there are.
func ofEachKind() []string {
	return []string{
		"A_llama_L1_async", "A_llama_mix_md5", "A_llama_mix_statistics", "A_llama_mix_structure", "A_llama_mix_tensor_mlp1", "A_llama_mix_xor",
		"B00_golden_L0", "B14_nan_l2_mlp_step1_mix", "D_ddp_golden", "D_tp_rank1_nan", "S_sglang_tp2_bench",
	}
}

func TestEveryRecordedDumpArrivesWhole(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir())
	dirs := unpackAll(t)
	for name, dir := range dirs {
		out := u.Publish(t, dir, name)
		if out.Stderr != "" || !strings.HasPrefix(out.Stdout, "run "+name+": ") {
			t.Errorf("publish %s: %v", name, out)
		}
	}
	u.Settle(t)
	// One after the other: each is about the state that the one before leaves.
	files := inFiles(t, dirs)
	compareCounts(t, stored(t, u), files)
	allComplete(t, u, dirs)
	notFiniteArrives(t, u, dirs)
	againChangesNothing(t, u, dirs)
	againWithoutClaims(t, u, dirs)
	againUnfinished(t, u, dirs)
	compareCounts(t, stored(t, u), files)
	restartChangesNothing(t, u)
}

// unpackAll extracts the recorded dumps and returns their folders by name.
func unpackAll(tb testing.TB) map[string]string {
	tb.Helper()
	archives, err := filepath.Glob(filepath.Join(recorded.Dumps(), "*.tar.gz"))
	if err != nil || len(archives) < 40 {
		tb.Fatalf("find recorded dumps: %d, %v", len(archives), err)
	}
	root := tb.TempDir()
	dirs := map[string]string{}
	for _, archive := range archives {
		name := strings.TrimSuffix(filepath.Base(archive), ".tar.gz")
		if !soak.InFull() && !slices.Contains(ofEachKind(), name) {
			continue
		}
		if err := recorded.Extract(archive, root); err != nil {
			tb.Fatalf("unpack %s: %v", name, err)
		}
		dirs[name] = filepath.Join(root, name, "dump")
	}
	if !soak.InFull() && len(dirs) != len(ofEachKind()) {
		tb.Fatalf("of the recorded dumps %q there are only %v", ofEachKind(), slices.Sorted(maps.Keys(dirs)))
	}
	return dirs
}

// inFiles counts with a reader that shares nothing with ours but the files.
func inFiles(tb testing.TB, dirs map[string]string) map[place]counted {
	tb.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		testbed.Needed(tb, "no python3 to count the files with")
	}
	args := []string{filepath.Join(filepath.Dir(recorded.Dumps()), "count_dump.py")}
	var places []place
	for name, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "step*", "*", "dump.json"))
		if err != nil || len(files) == 0 {
			tb.Fatalf("find dumps of %s: %v", name, err)
		}
		for _, file := range files {
			args, places = append(args, file), append(places, placeOf(name, file))
		}
	}
	out, err := exec.CommandContext(tb.Context(), python, args...).Output()
	if err != nil {
		tb.Fatalf("count_dump.py: %v", err)
	}
	counts := map[place]counted{}
	for i, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		counts[places[i]] = counted(line)
	}
	return counts
}

// placeOf reads step and rank off a path; a rank named by its process is the only one, so it is rank 0.
func placeOf(run, file string) place {
	rank := filepath.Base(filepath.Dir(file))
	if strings.HasPrefix(rank, "proc") {
		rank = "rank0"
	}
	step := filepath.Base(filepath.Dir(filepath.Dir(file)))
	return place{run, strings.TrimPrefix(step, "step"), strings.TrimPrefix(rank, "rank")}
}

// stored counts in the views.
func stored(tb testing.TB, u *program.Up) map[place]counted {
	tb.Helper()
	rows := u.Query(tb, `
		WITH counts AS (
			SELECT run, run_id, step, rank, countIf(kind = 'tensor') AS tensors, countIf(kind != 'tensor') AS others,
				countIf(kind = 'tensor' AND (isNaN(value_max) OR isNaN(value_min) OR isNaN(value_mean) OR isNaN(value_l2))) AS nans
			FROM tap.tensors GROUP BY run, run_id, step, rank
		), kept AS (
			SELECT run_id, step, rank, count() AS payloads FROM tap.payloads GROUP BY run_id, step, rank
		)
		SELECT r.name, s.step, s.rank, if(c.tensors = 0, 0, s.op_count), c.tensors, c.others, k.payloads, c.nans, s.dropped_count, s.complete
		FROM tap.steps AS s
		LEFT JOIN tap.runs AS r ON r.run_id = s.run_id
		LEFT JOIN counts AS c ON c.run_id = s.run_id AND c.step = s.step AND c.rank = s.rank
		LEFT JOIN kept AS k ON k.run_id = s.run_id AND k.step = s.step AND k.rank = s.rank`)
	counts := map[place]counted{}
	for _, row := range rows {
		p := place{row[0], row[1], row[2]}
		counts[p] = counted(strings.Join(row[3:8], "\t"))
		if row[8] != "0" || row[9] != "1" {
			tb.Errorf("%v: dropped_count = %s, complete = %s, want 0 and 1", p, row[8], row[9])
		}
	}
	return counts
}

func compareCounts(t *testing.T, got, want map[place]counted) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d ranks and steps are stored, want %d", len(got), len(want))
	}
	for p, w := range want {
		if got[p] != w {
			t.Errorf("%v: ops, tensors, others, payloads, NaN = %q, want %q", p, got[p], w)
		}
	}
}

func allComplete(t *testing.T, u *program.Up, dirs map[string]string) {
	t.Helper()
	for _, row := range u.Query(t, "SELECT run, rank, explanation FROM tap.completeness WHERE NOT complete") {
		t.Errorf("completeness: %v", row)
	}
	if got := u.Query(t, "SELECT uniqExact(run) FROM tap.completeness")[0][0]; got != fmt.Sprint(len(dirs)) {
		t.Errorf("completeness knows %s runs, want %d", got, len(dirs))
	}
	if undefined := u.Query(t, "SELECT run_id, rank, count() FROM tap.undefined_ids GROUP BY ALL"); len(undefined) > 0 {
		t.Errorf("ids without a definition: %v", undefined)
	}
	const run = "D_ddp_golden"
	out := program.Run(t, u.Setting, "report", "completeness", "--run", run, "--output", "csv")
	if lines := program.ParseCSV(t, out.Stdout); out.Status != 0 || out.Stderr != "" || len(lines) != 3 {
		t.Errorf("completeness of %s: %v, want a row for each of two ranks", run, out)
	}
}

func notFiniteArrives(t *testing.T, u *program.Up, dirs map[string]string) {
	t.Helper()
	got := map[string]int{}
	for _, row := range u.Query(t, `
		SELECT run || ' ' || value.1 || ' ' || multiIf(isNaN(value.2), 'NaN', value.2 > 0, 'Infinity', '-Infinity'), count()
		FROM tap.tensors
		ARRAY JOIN [('Max', value_max), ('Min', value_min), ('Mean', value_mean), ('Norm', value_l2)] AS value
		WHERE kind = 'tensor' AND value.2 IS NOT NULL AND NOT isFinite(value.2) GROUP BY 1`) {
		got[row[0]] = program.Number(t, row[1])
	}
	want := notFiniteInFiles(t, dirs)
	if !maps.Equal(got, want) {
		t.Errorf("not finite are %v, want %v", got, want)
	}
	if len(want) == 0 {
		t.Error("no recorded dump has a value that is not finite")
	}
}

// notFiniteInFiles counts the tokens that no other JSON has.
func notFiniteInFiles(tb testing.TB, dirs map[string]string) map[string]int {
	tb.Helper()
	token := regexp.MustCompile(`"(Max|Min|Mean|Norm)": (-?Infinity|NaN)`)
	counts := map[string]int{}
	for name, dir := range dirs {
		files, _ := filepath.Glob(filepath.Join(dir, "step*", "*", "dump.json"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				tb.Fatal(err)
			}
			for _, match := range token.FindAllStringSubmatch(string(text), -1) {
				counts[name+" "+match[1]+" "+match[2]]++
			}
		}
	}
	return counts
}
