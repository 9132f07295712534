package rules_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/zeebo/xxh3"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows/folders"
	"github.com/tensortap/tensortap/analysis/rules"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

var update = flag.Bool("update", false, "write the answers of this version of the rules") //nolint:gochecknoglobals // a flag of the test binary

const golden = "testdata/answers.txt"

// recordedPairs are problem and bench: each level, kind of digest, program, parallelism and raw tensors.
func recordedPairs() [][2]string {
	return [][2]string{
		{"B01_twin_mix", "B00_golden_mix"},
		{"B02_weight_mix", "B00_golden_mix"},
		{"B02_weight_L0", "B00_golden_L0"},
		{"B02_weight_L1", "B00_golden_L1"},
		{"B02_weight_md5", "B00_golden_md5"},
		{"B03_bf16_mix", "B00_golden_mix"},
		{"B04_eps_mix", "B00_golden_mix"},
		{"B05_extra_op_mix", "B00_golden_mix"},
		{"B06_extra_op_and_weight_mix", "B00_golden_mix"},
		{"B09_gelu_l3_mix", "B00_golden_mix"},
		{"B10_eager_attn_mix", "B00_golden_mix"},
		{"B13_wrong_data_mix", "B00_golden_mix"},
		{"B14_nan_l2_mlp_step1_mix", "B00_golden_mix"},
		{"B20_tensor_problem", "B20_tensor_golden"},
		{"A_llama_mix_xor", "A_llama_mix_md5"},
		{"A_llama_L0_statistics", "A_llama_mix_statistics"},
		{"D_ddp_rank1_weight", "D_ddp_golden"},
		{"D_tp_rank1_nan", "D_tp_golden"},
		{"D_tp_rank1_weight", "D_tp_golden"},
		{"E_resnet18_bn_eps_mix", "E_resnet18_golden_mix"},
		{"S_sglang_tp2_problem", "S_sglang_tp2_bench"},
	}
}

// TestTheVersionIsRaisedWithTheAnswers holds the answers about recorded runs against those that this version gave before.
func TestTheVersionIsRaisedWithTheAnswers(t *testing.T) {
	t.Parallel()
	got := answersText(t)
	kept, err := os.ReadFile(golden)
	if err != nil && !*update {
		t.Fatalf("%v; go test ./analysis/rules -update writes it", err)
	}
	version, _, _ := strings.Cut(string(kept), "\n")
	same := got == string(kept)
	switch {
	case same:
	case version == versionLine() && kept != nil:
		t.Errorf("answers changed, and the version of the rules did not: raise Version in version.go, then go test ./analysis/rules -update\n%s", firstDifference(got, string(kept)))
	case *update:
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s has the answers of %s: go test ./analysis/rules -update writes those of %s", golden, version, versionLine())
	}
}

func versionLine() string { return fmt.Sprintf("version %d", rules.Version) }

func answersText(t *testing.T) string {
	t.Helper()
	pairs := recordedPairs()
	lines := make([]string, len(pairs))
	var group errgroup.Group
	group.SetLimit(2)
	for i, names := range pairs {
		group.Go(func() (err error) {
			lines[i], err = answerLine(t, names[0], names[1])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	return versionLine() + "\n" + strings.Join(lines, "")
}

// answerLine has the number of tensors of each class, where the difference began, and a hash over all verdicts.
func answerLine(t *testing.T, problem, bench string) (string, error) {
	t.Helper()
	list := []folders.Folder{{Name: problem, Path: recorded.Unpack(t, problem)}, {Name: bench, Path: recorded.Unpack(t, bench)}}
	source, err := folders.Open(t.Context(), list, nil)
	if err != nil {
		return "", err
	}
	request := compare.DefaultRequest()
	request.Problem, request.Benches, request.Keep.Limit, request.Keep.UnpairedLimit = problem, []string{bench}, math.MaxInt32, math.MaxInt32
	answer, err := compare.Run(t.Context(), source, request)
	if err != nil {
		return "", fmt.Errorf("compare %s with %s: %w", problem, bench, err)
	}
	var all []byte
	for i := range answer.Divergence {
		all = appendDifference(all, &answer.Divergence[i])
	}
	for _, u := range answer.Unpaired {
		all = fmt.Appendln(all, u.Rank, u.Step, u.Side, u.Op, u.Reason, u.RowCount)
	}
	var counts result.StepSummary
	for _, s := range answer.Summary {
		counts.PairedCount += s.PairedCount
		counts.EqualCount += s.EqualCount
		counts.WithinCount += s.WithinCount
		counts.AgreesCount += s.AgreesCount
		counts.DivergedCount += s.DivergedCount
		counts.NotFiniteCount += s.NotFiniteCount
		counts.StructureCount += s.StructureCount
		counts.UnknownCount += s.UnknownCount
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\n  paired %d equal %d within %d agrees %d diverged %d not finite %d structure %d unknown %d hash %016x\n", problem, bench,
		counts.PairedCount, counts.EqualCount, counts.WithinCount, counts.AgreesCount, counts.DivergedCount, counts.NotFiniteCount, counts.StructureCount, counts.UnknownCount,
		xxh3.Hash(all))
	for _, o := range answer.Origins {
		fmt.Fprintf(&text, "  began rank %d step %d %s %s %s\n", o.Rank, o.Step, o.Op, o.Role, o.Path)
	}
	return text.String(), nil
}

func appendDifference(to []byte, d *result.Difference) []byte {
	to = fmt.Appendln(to, d.Rank, d.Step, d.Op, d.BenchOp, d.Role, d.Path, d.Class, d.Numeric, d.Evidence, d.Side, d.Structure, d.Differs, d.Reason)
	return fmt.Appendf(to, "%.6g %.6g %.6g %.6g\n", d.Error, d.ErrorLow, d.ErrorHigh, d.Tolerance)
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("got  %s\nwant %s", g[i], w[i])
		}
	}
	return "one has more lines than the other"
}
