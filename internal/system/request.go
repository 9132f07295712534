package system

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// CompareRequest says what to compare. Begin with DefaultCompareRequest.
type CompareRequest struct {
	Problem     string   // name of a run, or a folder of msProbe dumps
	Benches     []string // likewise; the first is paired with, all together give the band
	Tolerance   Tolerance
	Rank        int64 // of the problem; -1 for all
	Steps       Steps
	StepOffset  int64     // what to add to a step of the problem for that of the bench
	Strict      bool      // what exists on one side only makes the runs differ
	Payload     bool      // compare raw tensors too, element by element
	Folders     [2]string // where the raw tensors of stored runs lie, problem and bench; of folders, they are known
	ToolVersion string    // that a stored comparison names
	Limit       uint64    // of differing tensors that are listed
}

// DefaultCompareRequest compares everything.
func DefaultCompareRequest() CompareRequest {
	return CompareRequest{Tolerance: DefaultTolerance(), Rank: -1, Steps: AllSteps(), Limit: 20}
}

// Bench is the run that the problem is paired with.
func (r CompareRequest) Bench() string { return r.Benches[0] }

// Validate says what is wrong with the request.
func (r CompareRequest) Validate() error {
	if len(r.Benches) == 0 {
		return errors.New("nothing to compare with: name a bench run")
	}
	for i, name := range append([]string{r.Problem}, r.Benches...) {
		for _, other := range r.Benches[:max(i-1, 0)] {
			if i > 0 && name == other {
				return fmt.Errorf("bench %q is named twice", name)
			}
		}
	}
	if r.Payload && !r.FoldersOnly() && (r.Folders[0] == "" || r.Folders[1] == "") {
		return errors.New("raw tensors of stored runs are not stored themselves: give the folders of the dumps, --problem-dir and --bench-dir")
	}
	return r.Tolerance.Validate()
}

// FoldersOnly says whether all sides are dumps that still have to be read.
func (r CompareRequest) FoldersOnly() bool {
	for _, name := range append([]string{r.Problem}, r.Benches...) {
		if !isPath(name) {
			return false
		}
	}
	return true
}

func isPath(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// Parameters are those of the comparing reports, for the runs of these names.
func (r CompareRequest) Parameters(problem string, benches []string) map[string]string {
	return map[string]string{
		"problem": problem, "bench": benches[0], "benches": textList(benches[1:]),
		"tolerance": formatFloat(r.Tolerance.Number), "tolerances": r.Tolerance.parameter(),
		"rank":       strconv.FormatInt(r.Rank, 10),
		"first_step": strconv.FormatInt(r.Steps.First, 10), "last_step": strconv.FormatInt(r.Steps.Last, 10),
		"step_offset": strconv.FormatInt(r.StepOffset, 10),
		"limit":       strconv.FormatUint(r.Limit, 10),
	}
}

// textList is a list of texts as the database reads an Array(String).
func textList(texts []string) string {
	literals := make([]string, len(texts))
	for i, text := range texts {
		literals[i] = textLiteral(text)
	}
	return "[" + strings.Join(literals, ",") + "]"
}

// textLiteral is a text within a list that is a parameter. The driver escapes what else the database's reader of lists
// would take for an escape, backslashes too.
func textLiteral(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Steps is a range of steps of the problem, both ends included.
type Steps struct{ First, Last int64 } // Last is -1 for the end

// AllSteps is the range of all steps.
func AllSteps() Steps { return Steps{Last: -1} }

// ParseSteps reads "3", "3:7", ":7" or "3:".
func ParseSteps(text string) (Steps, error) {
	wrong := fmt.Errorf("steps %q: want A:B, A:, :B or one step, whole numbers from 0 to %d", text, math.MaxUint32)
	first, last, ranged := strings.Cut(text, ":")
	steps := AllSteps()
	if first != "" || !ranged {
		n, err := strconv.ParseUint(first, 10, 32)
		if err != nil {
			return steps, wrong
		}
		steps.First = int64(n) //nolint:gosec // 32 bits
		if !ranged {
			steps.Last = steps.First
		}
	}
	if last != "" {
		n, err := strconv.ParseUint(last, 10, 32)
		if err != nil || int64(n) < steps.First { //nolint:gosec // 32 bits
			return steps, wrong
		}
		steps.Last = int64(n) //nolint:gosec // 32 bits
	}
	return steps, nil
}
