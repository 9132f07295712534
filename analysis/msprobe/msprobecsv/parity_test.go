package msprobecsv_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/msprobe/msprobecsv"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/internal/system"
)

// The files of testdata/csv were written by msProbe 26.2.0 itself. Those named made_* compare dumps that no training
// wrote: they hold every kind of value and of difference that the rules speak of.

var update = flag.Bool("update", false, "write docs/msprobe-parity.md") //nolint:gochecknoglobals // a flag of the test binary

const page = "../../../docs/msprobe-parity.md"

// pair is a problem and a bench that msProbe compared.
type pair struct {
	problem, bench string
	step           int64
	ranks          int
}

func pairs() []pair {
	found := []pair{
		{"B02_weight_L0", "B00_golden_L0", 0, 1},
		{"B02_weight_L1", "B00_golden_L1", 0, 1},
		{"B02_weight_md5", "B00_golden_md5", 0, 1},
		{"B14_nan_l2_mlp_step1_mix", "B00_golden_mix", 1, 1},
		{"B20_tensor_problem", "B20_tensor_golden", 0, 1},
		{"D_ddp_rank1_weight", "D_ddp_golden", 0, 2},
		{"D_tp_rank1_weight", "D_tp_golden", 0, 2},
		{"E_resnet18_bn_eps_mix", "E_resnet18_golden_mix", 0, 1},
		{"made_statistics_problem", "made_statistics_bench", 0, 1},
		{"made_md5_problem", "made_md5_bench", 0, 1},
		{"made_tensor_problem", "made_tensor_bench", 0, 1},
	}
	for problem := range strings.FieldsSeq("B01_twin_mix B02_weight_mix B03_bf16_mix B04_eps_mix B05_extra_op_mix " +
		"B06_extra_op_and_weight_mix B09_gelu_l3_mix B10_eager_attn_mix B13_wrong_data_mix") {
		found = append(found, pair{problem, "B00_golden_mix", 0, 1})
	}
	return found
}

func TestEveryRowIsWhatMsprobePrints(t *testing.T) {
	t.Parallel()
	s := unpack(t)
	var results []result
	for _, p := range pairs() {
		results = append(results, s.compare(t, p)...)
	}
	judge(t, results)
}

// store is where the dumps of the runs lie.
type store map[string]string

func unpack(t *testing.T) store {
	t.Helper()
	dir := t.TempDir()
	s := store{}
	for _, p := range pairs() {
		for _, run := range []string{p.problem, p.bench} {
			folder := recorded.Dumps()
			if strings.HasPrefix(run, "made_") {
				folder = filepath.Join("testdata", "dumps")
			}
			if err := recorded.Extract(filepath.Join(folder, run+".tar.gz"), dir); err != nil {
				t.Fatal(err)
			}
			s[run] = filepath.Join(dir, run, "dump")
		}
	}
	if err := recorded.Extract(filepath.Join("testdata", "dumps", "B20_tensor_problem_files.tar.gz"), dir); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s store) compare(t *testing.T, p pair) []result {
	t.Helper()
	files, places := s.write(t, p)
	if len(places) != p.ranks {
		t.Errorf("%s: places %v, want %d ranks", p.problem, places, p.ranks)
	}
	var results []result
	for _, at := range places {
		name := fmt.Sprintf("%s_rank%d", p.problem, at.Rank)
		results = append(results, hold(name, files[at].Bytes(), theirs(t, name)))
	}
	return results
}

// write makes our files of a pair.
func (s store) write(t *testing.T, p pair) (files map[msprobecsv.Place]*file, places []msprobecsv.Place) {
	t.Helper()
	r := system.DefaultCompareRequest()
	r.Problem, r.Benches, r.Steps = s[p.problem], []string{s[p.bench]}, steps.Between(steps.Range{First: p.step, Last: p.step})
	files = map[msprobecsv.Place]*file{}
	_, err := system.CompareFoldersAsMsprobe(t.Context(), r, func(at msprobecsv.Place) (io.WriteCloser, error) {
		files[at], places = &file{}, append(places, at)
		return files[at], nil
	})
	if err != nil {
		t.Fatalf("compare %s with %s: %v", p.problem, p.bench, err)
	}
	return files, places
}

// file is a file in memory.
type file struct{ bytes.Buffer }

// Close implements io.Closer.
func (*file) Close() error { return nil }

// theirs is a file that msProbe wrote.
func theirs(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "csv", name+".csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	plain, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func lines(text []byte) [][]string {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return [][]string{{err.Error()}}
	}
	return rows
}
