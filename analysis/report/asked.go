package report

import (
	"slices"
	"strconv"
	"strings"
)

// Asked is how a comparison was asked for beside its two runs, so that the commands it ends with ask the same. Its zero
// value is the comparison that no flag changes.
type Asked struct {
	Benches    []string // after the first
	Tolerance  string   // a number or a file
	Rank       string   // of the problem
	Steps      string   // of the problem
	StepOffset int64
	Strict     bool
	Payload    bool
	Folders    [2]string // where the raw tensors of stored runs lie
	Map        string    // a file
	Calibrate  string    // a run
}

// narrow says whether only some ranks or steps were asked for.
func (a *Asked) narrow() bool { return a.Rank != "" || a.Steps != "" }

// forCompare is what to write after `compare PROBLEM BENCH`.
func (a *Asked) forCompare() string {
	var w flagWords
	for _, bench := range a.Benches {
		w.words = append(w.words, Argument(bench))
	}
	w.judged(a)
	w.text("--map", a.Map)
	w.text("--calibrate", a.Calibrate)
	w.place(a)
	w.set("--strict", a.Strict)
	w.set("--payload", a.Payload)
	w.text("--problem-dir", a.Folders[0])
	w.text("--bench-dir", a.Folders[1])
	return w.String()
}

// forExplain is what to write after `explain --problem PROBLEM --bench BENCH`, which looks at one place.
func (a *Asked) forExplain() string {
	var w flagWords
	for _, bench := range a.Benches {
		w.text("--bench", bench)
	}
	w.judged(a)
	return w.String()
}

// forReport is what to write after `report NAME --problem PROBLEM --bench BENCH`, of a report of what was judged.
func (a *Asked) forReport() string {
	w := flagWords{words: a.reportBenches()}
	w.judged(a)
	w.text("--map", a.Map)
	w.text("--calibrate", a.Calibrate)
	w.place(a)
	return w.String()
}

// forOverflow is what to write after `overflow RUN`.
func (a *Asked) forOverflow() string {
	var w flagWords
	w.place(a)
	return w.String()
}

// withPayload is the same with raw tensors, of runs that are stored or not.
func (a *Asked) withPayload(stored bool) Asked { //nolint:revive // flag-parameter: where the tensors lie
	asked := *a
	asked.Payload = true
	if stored && asked.Folders == [2]string{} {
		asked.Folders = [2]string{"DIR", "DIR"}
	}
	return asked
}

// reportBenches are flags that are read as lists of the form of CSV: a name with a comma has to be quoted there.
func (a *Asked) reportBenches() []string {
	var words []string
	for _, bench := range a.Benches {
		if strings.ContainsAny(bench, ",\"\n\r") {
			bench = `"` + strings.ReplaceAll(bench, `"`, `""`) + `"`
		}
		words = append(words, "--benches", Argument(bench))
	}
	return words
}

// flagWords collects flags as a shell reads them.
type flagWords struct{ words []string }

func (w *flagWords) judged(a *Asked) {
	w.text("--tolerance", a.Tolerance)
	if a.StepOffset != 0 {
		w.words = append(w.words, "--step-offset", strconv.FormatInt(a.StepOffset, 10))
	}
}

func (w *flagWords) place(a *Asked) {
	w.text("--rank", a.Rank)
	w.text("--steps", a.Steps)
}

func (w *flagWords) text(flag, value string) {
	if value != "" {
		w.words = append(w.words, flag, Argument(value))
	}
}

func (w *flagWords) set(flag string, is bool) { //nolint:revive // flag-parameter: it is a flag
	if is {
		w.words = append(w.words, flag)
	}
}

// String is the flags with a blank before them; empty where there are none.
func (w *flagWords) String() string {
	return strings.Join(slices.Insert(slices.Clone(w.words), 0, ""), " ")
}
