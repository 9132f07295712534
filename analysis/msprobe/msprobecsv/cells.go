package msprobecsv

import (
	"math"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/msprobe/internal/pyrepr"
	"github.com/tensortap/tensortap/analysis/msprobe/msprobecompare"
	"github.com/tensortap/tensortap/internal/payload"
)

// statistics appends those of both sides.
func (r *row) statistics(to []string) []string {
	for i := range msprobecompare.StatisticCount {
		to = append(to, statistic(&r.Problem, i))
	}
	for i := range msprobecompare.StatisticCount {
		text := notApplicable
		if r.Paired {
			text = statistic(&r.Bench, i)
		}
		to = append(to, text)
	}
	return to
}

// isTensor tells a tensor from another argument, whose value is its statistics.
func isTensor(s *msprobecompare.Side) bool {
	return s.Value == "" && s.Dtype != "<class 'str'>"
}

func statistic(s *msprobecompare.Side, i int) string {
	if !isTensor(s) {
		return printedValue(s)
	}
	n := s.Statistics[i]
	switch {
	case !n.Known:
		return "None"
	case s.Dtype == "torch.bool":
		return truth(n.Value != 0)
	case strings.Contains(strings.ToLower(s.Dtype), "int") && n.Value == math.Trunc(n.Value) && math.Abs(n.Value) < 1<<63:
		return strconv.FormatInt(int64(n.Value), 10)
	}
	return printedFloat(n.Value)
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

func printedValue(s *msprobecompare.Side) string {
	switch {
	case strings.EqualFold(s.Value, "nan"):
		return "Nan"
	case s.Dtype == "<class 'float'>" && (s.Value == "inf" || s.Value == "-inf"):
		return " " + s.Value
	}
	return s.Value
}

// errors appends the differences of the statistics and then the relative ones.
func (r *row) errors(to []string) []string {
	for i := range msprobecompare.StatisticCount {
		text, _ := r.statisticError(i)
		to = append(to, text)
	}
	for i := range msprobecompare.StatisticCount {
		_, text := r.statisticError(i)
		to = append(to, text)
	}
	return to
}

func (r *row) statisticError(i int) (difference, relative string) {
	d, e := r.Differences[i], r.RelativeErrors[i]
	switch {
	case !d.Known:
		return r.noError()
	case d.Value == 0 && e.Value == 0 && r.Problem.Value == r.Bench.Value:
		return "0", "0" // as text, not as a number
	case math.IsNaN(d.Value):
		return "Nan", "Nan"
	case math.IsInf(d.Value, 0):
		return pyrepr.Float(d.Value), pyrepr.Float(d.Value)
	case math.IsInf(e.Value, 0):
		return pyrepr.Float(d.Value), "inf"
	}
	return pyrepr.Float(d.Value), pyrepr.Float(math.Abs(d.Value/r.Bench.Statistics[i].Value*100)) + "%"
}

// noError is what stands for a difference that is no number.
func (r *row) noError() (difference, relative string) {
	if !r.Paired || isDevice(r.Problem.Value) && isDevice(r.Bench.Value) {
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
	e := r.Raw
	if isSingle(r.Problem.Shape) {
		return append(to, unsupported, unsupported, rounded(e.MaxAbsolute), rounded(e.MaxRelative), unsupported, unsupported)
	}
	cosine := rounded(e.Cosine)
	if e.Cosine != nil && *e.Cosine > 0.9999 {
		cosine = decimals(*e.Cosine, 6)
	}
	return append(to, cosine, plain(e.L2Distance), rounded(e.MaxAbsolute), rounded(e.MaxRelative),
		rounded(e.ThousandthRatio), rounded(e.FiveThousandthRatio))
}

// notCompared is the word for all measures when there are none.
func (r *row) notCompared() string {
	switch {
	case r.Raw == nil:
		return unsupported
	case payload.Has(r.Raw.Message, payload.ShapeDiffer):
		return "shape unmatched"
	case payload.Has(r.Raw.Message, payload.NotFinite):
		return notApplicable
	case r.Raw.MaxAbsolute == nil:
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
func rounded(v *float64) string {
	if v == nil {
		return "Nan"
	}
	return decimals(*v, 12)
}

func decimals(v float64, places int) string {
	kept, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', places, 64), 64)
	if err != nil {
		return printedFloat(v)
	}
	return printedFloat(kept)
}

func plain(v *float64) string {
	if v == nil {
		return "Nan"
	}
	return printedFloat(*v)
}
