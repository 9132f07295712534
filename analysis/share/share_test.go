package share_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/share"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/system"
)

const (
	page  = "<body><!--answers--></body>"
	began = "Functional.linear.20.forward"
)

// shared is a file that was read.
type shared struct {
	text  string
	parts [][]byte
	index struct {
		Problem   string
		Answers   map[string]int
		Sequences []struct {
			Rank, Step     uint32
			DifferingCount uint64 `json:"differing_count"`
			Part           int
		}
		Explained int
	}
}

func fileOf(t *testing.T, problem, bench string) shared {
	t.Helper()
	request := system.DefaultCompareRequest()
	request.Problem, request.Benches = problem, []string{bench}
	file := share.File{Page: []byte(page), Version: "1", Made: time.Unix(1, 0)}
	var written bytes.Buffer
	if _, err := system.ShareFolders(t.Context(), request, report.Style{Format: report.JSON}, file, &written); err != nil {
		t.Fatal(err)
	}
	s := shared{text: written.String()}
	if !strings.HasPrefix(s.text, "<body>") || !strings.HasSuffix(s.text, "</body>") {
		t.Fatalf("the page is not around the answers: %.200s", s.text)
	}
	for n, found := range regexp.MustCompile(`(?s)<script type="text/plain" id="part-(\d+)">(.*?)</script>`).FindAllStringSubmatch(s.text, -1) {
		if found[1] != fmt.Sprint(n) {
			t.Fatalf("part %s stands where %d is to be", found[1], n)
		}
		s.parts = append(s.parts, unpacked(t, found[2]))
	}
	index := regexp.MustCompile(`(?s)id="index">(.*?)</script>`).FindStringSubmatch(s.text)
	if err := json.Unmarshal([]byte(index[1]), &s.index); err != nil {
		t.Fatal(err)
	}
	return s
}

func unpacked(t *testing.T, part string) []byte {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(part)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// object is a part that holds one.
func (s *shared) object(t *testing.T, part int) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(s.parts[part], &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestAFileAnswersAsTheProgramDoes(t *testing.T) {
	t.Parallel()
	problem, bench := recorded.Unpack(t, "B02_weight_mix")+"/step0", recorded.Unpack(t, "B00_golden_mix")+"/step0"
	s := fileOf(t, problem, bench)
	if said := s.object(t, s.index.Answers["compare"]); said["verdict"] != "differs" || said["origins"].([]any)[0].(map[string]any)["op"] != began {
		t.Errorf("the comparison began at %v", said["origins"])
	}
	part := s.object(t, s.index.Explained)["0 0 "+began].(float64)
	request := system.DefaultExplainRequest()
	request.Compare.Problem, request.Compare.Benches, request.Name, request.Before = problem, []string{bench}, began, 3
	explanation, err := system.ExplainFolders(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]any
	text, err := json.Marshal(explanation.Object())
	if err == nil {
		err = json.Unmarshal(text, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := s.object(t, int(part))["0 0 "+began].(map[string]any)
	for _, name := range []string{"op", "rank", "step", "tensors", "place", "before"} {
		if !reflect.DeepEqual(got[name], want[name]) {
			t.Errorf("%s of the op where it began:\n%v\nexplain says\n%v", name, got[name], want[name])
		}
	}
}

func TestAFileHasTheOpsOfAPlaceInOrder(t *testing.T) {
	t.Parallel()
	s := fileOf(t, recorded.Unpack(t, "B06_extra_op_and_weight_mix"), recorded.Unpack(t, "B00_golden_mix"))
	if len(s.index.Sequences) == 0 || s.index.Sequences[0].DifferingCount == 0 {
		t.Fatalf("the first place that is shown is %v: want one that differs", s.index.Sequences)
	}
	reader, err := ipc.NewFileReader(bytes.NewReader(s.parts[s.index.Sequences[0].Part]))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close() //nolint:errcheck // only read
	table, err := reader.RecordBatch(0)
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) arrow.Array { return table.Column(table.Schema().FieldIndices(name)[0]) }
	problem, bench, verdict, greatest := column("problem_op"), column("bench_op"), column("verdict"), column("error")
	counts := map[string]int{}
	for i := range int(table.NumRows()) {
		counts[verdict.ValueStr(i)]++
		if alone := problem.ValueStr(i) == "" || bench.ValueStr(i) == ""; alone != strings.HasPrefix(verdict.ValueStr(i), "only_") {
			t.Errorf("%q beside %q is %s", problem.ValueStr(i), bench.ValueStr(i), verdict.ValueStr(i))
		}
		if diverged := verdict.ValueStr(i) == "diverged"; diverged && greatest.IsNull(i) || verdict.ValueStr(i) == "same" && greatest.IsValid(i) {
			t.Errorf("%q is %s, with error %s: the report sequence keeps errors of what does not agree", problem.ValueStr(i), verdict.ValueStr(i), greatest.ValueStr(i))
		}
	}
	if counts["only_problem"] == 0 || counts["diverged"] == 0 || counts["same"] == 0 {
		t.Errorf("verdicts of ops: %v: want some that diverged, some the same and one of the problem alone", counts)
	}
}

func TestNamesInAFileAreText(t *testing.T) {
	t.Parallel()
	problem := t.TempDir() + "/</script><img src=x>"
	if err := recorded.WriteRanks(problem, 1); err != nil {
		t.Fatal(err)
	}
	s := fileOf(t, problem, problem)
	if strings.Contains(s.text, "<img") || strings.Count(s.text, "<script") != strings.Count(s.text, "</script>") {
		t.Errorf("a name is not text in the file: %.1000s", s.text)
	}
	if s.index.Problem != problem {
		t.Errorf("the problem is %q, want %q", s.index.Problem, problem)
	}
}
