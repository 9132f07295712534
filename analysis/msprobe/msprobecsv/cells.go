package msprobecsv

import (
	"math"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/msprobe/internal/pyrepr"
	"github.com/tensortap/tensortap/internal/payload"
)

// statistics appends those of both sides.
func (r *row) statistics(to []string) []string {
	for i := range statisticCount {
		to = append(to, r.problem.statistic(i))
	}
	for i := range statisticCount {
		text := notApplicable
		if r.paired {
			text = r.bench.statistic(i)
		}
		to = append(to, text)
	}
	return to
}

// isTensor tells a tensor from another argument, whose value is its statistics.
func (s *side) isTensor() bool {
	return s.value == "" && s.dtype != "<class 'str'>"
}

func (s *side) statistic(i int) string {
	if !s.isTensor() {
		return s.printedValue()
	}
	n := s.statistics[i]
	switch {
	case !n.known:
		return "None"
	case s.dtype == "torch.bool":
		return truth(n.value != 0)
	case strings.Contains(strings.ToLower(s.dtype), "int") && n.value == math.Trunc(n.value) && math.Abs(n.value) < 1<<63:
		return strconv.FormatInt(int64(n.value), 10)
	}
	return printedFloat(n.value)
}

// printedFloat is a float in a cell: msProbe writes its own word for NaN, and a
// blank before infinity for the sake of spreadsheets.
func printedFloat(v float64) string {
	switch {
	case math.IsNaN(v):
		return "Nan"
	case math.IsInf(v, 0):
		return " " + pyrepr.Float(v)
	}
	return pyrepr.Float(v)
}

func (s *side) printedValue() string {
	switch {
	case strings.EqualFold(s.value, "nan"):
		return "Nan"
	case s.dtype == "<class 'float'>" && (s.value == "inf" || s.value == "-inf"):
		return " " + s.value
	}
	return s.value
}

// errors appends the differences of the statistics and then the relative ones.
func (r *row) errors(to []string) []string {
	for i := range statisticCount {
		text, _ := r.statisticError(i)
		to = append(to, text)
	}
	for i := range statisticCount {
		_, text := r.statisticError(i)
		to = append(to, text)
	}
	return to
}

func (r *row) statisticError(i int) (difference, relative string) {
	d, e := r.differences[i], r.relatives[i]
	switch {
	case !d.known:
		return r.noError()
	case d.value == 0 && e.value == 0 && r.problem.value == r.bench.value:
		return "0", "0" // as text, not as a number
	case math.IsNaN(d.value):
		return "Nan", "Nan"
	case math.IsInf(d.value, 0):
		return pyrepr.Float(d.value), pyrepr.Float(d.value)
	case math.IsInf(e.value, 0):
		return pyrepr.Float(d.value), "inf"
	}
	return pyrepr.Float(d.value), pyrepr.Float(math.Abs(d.value/r.bench.statistics[i].value*100)) + "%"
}

// noError is what stands for a difference that is no number.
func (r *row) noError() (difference, relative string) {
	if !r.paired || isDevice(r.problem.value) && isDevice(r.bench.value) {
		return notApplicable, notApplicable
	}
	return "Diff", "Diff"
}

func isDevice(value string) bool {
	value = strings.ToLower(value)
	return strings.Contains(value, "npu") || strings.Contains(value, "cpu") || strings.Contains(value, "cuda")
}

// metrics appends those of two tensors that were compared element by element.
func (r *row) metrics(to []string) []string {
	if word := r.notCompared(); word != "" {
		return append(to, word, word, word, word, word, word)
	}
	if isSingle(r.problem.shape) {
		return append(to, unsupported, unsupported, rounded(r.absolute), rounded(r.relative), unsupported, unsupported)
	}
	cosine := rounded(r.cosine)
	if r.cosine.known && r.cosine.value > 0.9999 {
		cosine = decimals(r.cosine.value, 6)
	}
	return append(to, cosine, plain(r.distance), rounded(r.absolute), rounded(r.relative),
		rounded(r.thousandthRatio), rounded(r.fiveThousandthsRatio))
}

// notCompared is the word for all measures when there are none.
func (r *row) notCompared() string {
	switch {
	case r.paired && r.compared && payload.Has(r.unlike, payload.ShapeDiffer):
		return "shape unmatched"
	case r.paired && r.compared && payload.Has(r.unlike, payload.NotFinite):
		return notApplicable
	case !r.paired || !r.absolute.known:
		return unsupported
	}
	return ""
}

// squeezed is a shape without its dimensions of one element.
func squeezed(shape string) string {
	var kept []string
	for size := range strings.SplitSeq(strings.Trim(shape, "[]"), ", ") {
		if size != "1" {
			kept = append(kept, size)
		}
	}
	return strings.Join(kept, ", ")
}

func isSingle(shape string) bool { return squeezed(shape) == "" }

// rounded is a measure to twelve decimals, as msProbe keeps it.
func rounded(n number) string {
	if !n.known {
		return "Nan"
	}
	return decimals(n.value, 12)
}

func decimals(v float64, places int) string {
	kept, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', places, 64), 64)
	if err != nil {
		return printedFloat(v)
	}
	return printedFloat(kept)
}

func plain(n number) string {
	if !n.known {
		return "Nan"
	}
	return printedFloat(n.value)
}
