package payload_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/payload"
)

// sayings pair the beginning of a message of msProbe, or a part that only it has, with our message.
func sayings() map[string]string {
	return map[string]string{
		"This is type of 0-d": payload.OneElement, "Dtype of NPU": payload.DtypeDiffer, "Shape of NPU": payload.ShapeDiffer,
		"The position of inf or nan": payload.NotFinite, "Zero in npu": payload.ZeroProblem, "Zero in Bench": payload.ZeroBench,
		"This is empty data": payload.Empty,
	}
}

// sameNumber says whether a number equals msProbe's.
func sameNumber(got *float64, want string) bool {
	switch want {
	case "'unsupported'", "'N/A'", "'shape unmatched'":
		return got == nil
	case "'Nan'":
		return got != nil && math.IsNaN(*got)
	case "inf":
		return got != nil && math.IsInf(*got, 1)
	}
	return printed(got, want)
}

func TestEveryKindOfPairIsJudgedAsByMsprobe(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := recorded.Extract("testdata/msprobe_pairs.tar.gz", folder); err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile("testdata/msprobe_pairs.tsv")
	if err != nil {
		t.Fatal(err)
	}
	matched, total := 0, 0
	for line := range strings.Lines(string(lines)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		name, message := fields[0], fields[7]
		r := compare(t, load(t, filepath.Join(folder, name+".problem.pt")), load(t, filepath.Join(folder, name+".bench.pt")))
		for i, got := range []*float64{r.Cosine, r.L2Distance, r.MaxAbsolute, r.MaxRelative, r.Thousandth, r.FiveThousandth} {
			total++
			if sameNumber(got, fields[1+i]) {
				matched++
				continue
			}
			t.Errorf("%s: number %d = %s, msProbe says %s", name, i, text(got, -1), fields[1+i])
		}
		for theirs, ours := range sayings() {
			if ours == payload.NotFinite && payload.Has(r.Message, payload.OneElement) {
				continue // which msProbe does not look for
			}
			if strings.Contains(message, theirs) != payload.Has(r.Message, ours) {
				t.Errorf("%s: message %q, msProbe says %q", name, r.Message, message)
			}
		}
	}
	t.Logf("%d of %d numbers are those of msProbe", matched, total)
	if total < 250 {
		t.Errorf("%d numbers, want 250 or more", total)
	}
}
