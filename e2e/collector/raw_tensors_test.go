package collector

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// rawSetting has two runs, good and bad, that kept raw tensors of their first step, and the exports of both.
func rawSetting(t *testing.T) (s program.Setting, exports string) {
	t.Helper()
	s = program.Launching(t)
	wrong := s
	wrong.Env = append([]string{"WRONG=1"}, s.Env...)
	python, exports := torch.Python(t), t.TempDir()
	asked := []string{"--task", "tensor", "--level", "mix", "--steps", "0", "--budget", "20GB"}
	for _, c := range []struct {
		at   program.Setting
		args []string
	}{
		{s, append(append([]string{"run", "--run", "good", "--file-format", "pt"}, asked...), "--", python, "testdata/plain_raw.py")},
		{wrong, append(append([]string{"run", "--run", "bad"}, asked...), "--", python, "testdata/plain_raw.py")},
		{s, []string{"export", "msprobe", "--run", "good", filepath.Join(exports, "good")}},
		{s, []string{"export", "msprobe", "--run", "bad", filepath.Join(exports, "bad")}},
	} {
		out := program.Run(t, c.at, c.args...)
		told := strings.Contains(out.Stderr, "run: raw tensors: ") && strings.Contains(out.Stderr, " bytes, below "+filepath.Join(s.Data, "payloads"))
		if out.Status != 0 || told != (c.args[0] == "run") {
			t.Fatalf("%q: %v", c.args, out)
		}
	}
	return s, exports
}

// TestRawTensorsFromLaunch holds what is said of stored runs, of their exports, and by msProbe itself where it is, against each other.
func TestRawTensorsFromLaunch(t *testing.T) {
	t.Parallel()
	s, exports := rawSetting(t)
	out := program.Run(t, s, "compare", "bad", "good", "--payload")
	if out.Status != 1 || !strings.Contains(out.Stdout, "pairs of raw tensors were compared element by element") || !strings.Contains(out.Stdout, "(by payload)") {
		t.Errorf("compare --payload: %v", out)
	}
	ours := said(t, program.Run(t, s, "compare", "bad", "good", "--payload", "--output", "msprobe-csv").Stdout)
	problem, bench := filepath.Join(exports, "bad"), filepath.Join(exports, "good")
	exported := said(t, program.Run(t, s, "compare", problem, bench, "--output", "msprobe-csv").Stdout)
	if compared := agree(t, exported, ours, 0); compared < 40 {
		t.Errorf("%d raw tensors are in both, want more", compared)
	}
	t.Run("msProbe", func(t *testing.T) {
		t.Parallel()
		files := testbed.MsprobeCompares(t, testbed.Msprobe(t), filepath.Join(problem, "step0"), filepath.Join(bench, "step0"))
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("msProbe's compare agrees on %d raw tensors", agree(t, said(t, string(text)), ours, 1e-6))
	})
}

// said are the rows of a file of msProbe's compare, by name; each has its cells by the name of the column.
func said(t *testing.T, text string) map[string]map[string]string {
	t.Helper()
	table, found := program.ParseCSV(t, text), map[string]map[string]string{}
	for _, row := range table[1:] {
		cells := map[string]string{}
		for i, cell := range row {
			cells[table[0][i]] = cell
		}
		found[row[0]] = cells
	}
	return found
}

// agree holds what element by element was said of each tensor against each other, and returns of how many it is a number.
func agree(t *testing.T, got, want map[string]map[string]string, tolerance float64) (numbers int) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	for name, cells := range want {
		for _, column := range []string{"Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr"} {
			if !near(got[name][column], cells[column], tolerance) {
				t.Errorf("%s: %s is %q, want %q", name, column, got[name][column], cells[column])
			}
		}
		if _, err := strconv.ParseFloat(cells["MaxAbsErr"], 64); err == nil {
			numbers++
		}
	}
	return numbers
}

func near(a, b string, tolerance float64) bool {
	x, wrong := strconv.ParseFloat(a, 64)
	y, wrongToo := strconv.ParseFloat(b, 64)
	return a == b || wrong == nil && wrongToo == nil && math.Abs(x-y) <= tolerance*max(math.Abs(x), math.Abs(y))
}

// TestRunRefusesWhatNoProcessCouldKeep ends before the program begins.
func TestRunRefusesWhatNoProcessCouldKeep(t *testing.T) {
	t.Parallel()
	s := program.Setting{Data: t.TempDir()}
	file := program.TextFile(t, "")
	nowhere := s
	nowhere.Env = append([]string{"TENSORTAP_PAYLOAD_FOLDER=" + filepath.Join(file, "below")}, s.Env...)
	for _, c := range []struct {
		at   program.Setting
		args []string
		want string
	}{
		{s, []string{"--task", "tensors"}, `--task "tensors": want statistics, structure, md5, tensor`},
		{s, []string{"--task", "tensor", "--file-format", "bin"}, `--file-format "bin": want safetensors, npy, pt`},
		{s, []string{"--task", "tensor", "--budget", "20gigs"}, `--budget "20gigs": want a share of the time, as 2%, a size of raw tensors, as 20GB, or both, as 2%,20GB`},
		{nowhere, []string{"--task", "tensor"}, "--task tensor: no raw tensor could be kept: mkdir " + file + ": not a directory; name another folder with --data or TENSORTAP_PAYLOAD_FOLDER"},
	} {
		out := program.Run(t, c.at, append(append([]string{"run", "--run", "none"}, c.args...), "--", "sh", "-c", "echo begun")...)
		if out.Status != 2 || !strings.Contains(out.Stderr, c.want) || strings.Contains(out.Stdout, "begun") {
			t.Errorf("%q: want %q: %v", c.args, c.want, out)
		}
	}
}
