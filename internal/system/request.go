package system

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/steps"
)

// CompareRequest says what to compare. Begin with DefaultCompareRequest.
type CompareRequest struct {
	Problem     string   // a folder of dumps, or the name of a run
	Benches     []string // likewise; the first is paired with, all together give the band
	Stored      bool     // all of these are names of runs, whatever folders there are
	Tolerance   Tolerance
	Rank        int64        // of the problem; -1 for all
	Steps       steps.Set    // of the problem
	StepOffset  int64        // what to add to a step of the problem for that of the bench
	Strict      bool         // what exists on one side only makes the runs differ
	Payload     bool         // compare raw tensors too, element by element
	Folders     [2]string    // where the raw tensors of stored runs lie, problem and bench; of folders, they are known
	ToolVersion string       // that a stored comparison names
	Limit       uint64       // of differing tensors that are listed
	Texts       bool         // list arguments that are text, such as ids of requests, beside all others
	Map         *mapping.Map // which module of the problem is which of the bench; nil for those of the same name
	Calibrate   string       // another run or folder of the bench's program, which says what tensors may differ by; empty for none
	ByName      bool         // no map that ships is chosen, whatever the runs are
}

// DefaultCompareRequest compares everything.
func DefaultCompareRequest() CompareRequest {
	return CompareRequest{Tolerance: DefaultTolerance(), Rank: -1, Limit: 20}
}

// Bench is the run that the problem is paired with.
func (r CompareRequest) Bench() string { return r.Benches[0] }

// Validate says what is wrong with the request.
func (r CompareRequest) Validate() error {
	if len(r.Benches) == 0 {
		return errors.New("nothing to compare with: name a bench run")
	}
	for i, name := range r.Benches {
		if slices.Contains(r.Benches[:i], name) {
			return fmt.Errorf("bench %q is named twice", name)
		}
	}
	if err := r.checkCalibration(); err != nil {
		return err
	}
	if r.Payload && r.Map != nil {
		return errors.New("raw tensors are compared by the names of their ops alone: --payload does not go with --map")
	}
	if r.Payload && !r.FoldersOnly() && (r.Folders[0] == "" || r.Folders[1] == "") {
		return errors.New("raw tensors of stored runs are not stored themselves: give the folders of the dumps, --problem-dir and --bench-dir")
	}
	if !r.FoldersOnly() {
		if err := CheckRange(r.Steps); err != nil {
			return err
		}
	}
	return r.Tolerance.Validate()
}

// checkCalibration says what is wrong with the run that calibrates.
func (r CompareRequest) checkCalibration() error {
	if r.Calibrate == "" {
		return nil
	}
	return compare.CheckCalibration(r.Calibrate, r.Problem, r.Benches, r.Tolerance.written() != "")
}

// FoldersOnly says whether all sides are dumps that still have to be read.
func (r CompareRequest) FoldersOnly() bool {
	return !r.Stored && !slices.ContainsFunc(r.Sides(), func(name string) bool { return !IsFolder(name) })
}

// asked is what to write in the next command beside the runs.
func (r CompareRequest) asked() report.Asked {
	asked := askedPlace(r.Rank, r.Steps)
	asked.Benches, asked.Tolerance, asked.StepOffset = r.Benches[1:], r.Tolerance.written(), r.StepOffset
	asked.Calibrate = r.Calibrate
	asked.Strict, asked.Payload, asked.Folders = r.Strict, r.Payload, r.Folders
	if r.Map != nil {
		asked.Map = r.Map.File
	}
	return asked
}

// askedPlace is what to write for these ranks and steps.
func askedPlace(rank int64, set steps.Set) (asked report.Asked) {
	if rank >= 0 {
		asked.Rank = strconv.FormatInt(rank, 10)
	}
	if !set.All() {
		asked.Steps = set.String()
	}
	return asked
}

// Sides are what the request names: the problem, its benches, then what calibrates.
func (r CompareRequest) Sides() []string {
	all := append([]string{r.Problem}, r.Benches...)
	if r.Calibrate != "" {
		all = append(all, r.Calibrate)
	}
	return all
}

// CheckFolders refuses a folder that cannot be looked at, and one beside a stored run.
func (r CompareRequest) CheckFolders() error {
	folder := slices.IndexFunc(r.Sides(), IsFolder)
	if r.Stored || folder < 0 {
		return nil
	}
	for _, name := range r.Sides() {
		switch {
		case IsFolder(name):
			if err := checkFolder(name); err != nil {
				return err
			}
		case writtenAsPath(name):
			return fmt.Errorf("no such folder: %s; to compare %s with a run of that name, %s", name, r.Sides()[folder], publishFirst(r.Sides()[folder]))
		default:
			return fmt.Errorf("%s is a folder, and %s; to compare the folder with the run, %s", r.Sides()[folder], NamesRun(name), publishFirst(r.Sides()[folder]))
		}
	}
	return nil
}

func publishFirst(folder string) string {
	return "publish the folder first: tensortap publish msprobe " + report.Argument(folder) + " --run NAME (sglang-dumper instead of msprobe, if that wrote it)"
}

// Parameters are those of the comparing reports, for the runs of these names.
func (r CompareRequest) Parameters(problem string, benches []string) map[string]string {
	return map[string]string{
		"problem": problem, "bench": benches[0], "benches": ask.Texts(benches[1:]),
		"tolerance": fmt.Sprint(r.Tolerance.Number), "tolerances": r.Tolerance.parameter(),
		"rank":       strconv.FormatInt(r.Rank, 10),
		"first_step": strconv.FormatInt(r.Steps.First(), 10), "last_step": strconv.FormatInt(r.Steps.Last(), 10),
		"step_offset": strconv.FormatInt(r.StepOffset, 10),
		"limit":       strconv.FormatUint(r.Limit, 10),
	}
}

// CheckRange refuses steps with gaps, for questions that reports answer: those take the first step and the last.
func CheckRange(set steps.Set) error {
	if _, ok := set.Range(); !ok {
		return fmt.Errorf("--steps %s: want one range without gaps here, as 3-5 or 5-", set)
	}
	return nil
}
