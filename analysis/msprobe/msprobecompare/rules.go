package msprobecompare

import (
	"math"
	"slices"
	"strings"
)

// Result is msProbe's own word on a row.
type Result string

// The results, the better one first.
const (
	Pass    Result = "pass"
	Warning Result = "warning"
	Error   Result = "error"
)

// call is what the rules know of one call of an op: of its inputs, parameters among them, and of its outputs. What is none
// of them is its input.
type call struct {
	hasInput                bool
	first, firstOutput      uint64  // seq of its first row, and of its first output
	errorIn, errorOut       float64 // greatest finite relative error of the norm
	ratioIn, ratioOut       float64 // least share of elements that are apart by less than a thousandth
	cosineIn, cosineOut     float64
	isIgnored, ignoresInput bool // by its name
}

func newCall(op string) *call {
	c := &call{first: math.MaxUint64, firstOutput: math.MaxUint64, ratioIn: 1, ratioOut: 1, cosineIn: 1, cosineOut: 1}
	api := apiOf(op)
	c.isIgnored = slices.Contains(ignored(), api)
	c.ignoresInput = slices.Contains(collectives(), api)
	return c
}

// apiOf is the second part of the name of an op.
func apiOf(op string) string {
	_, rest, _ := strings.Cut(op, ".")
	api, _, _ := strings.Cut(rest, ".")
	return api
}

// ignored are the APIs of which no rule says anything.
func ignored() []string {
	return []string{"empty", "empty_like", "numpy", "to", "__setitem__", "empty_with_format", "new_empty_strided", "new_empty", "empty_strided"}
}

// collectives are the APIs of which only outputs are judged.
func collectives() []string {
	return []string{"_reduce_scatter_base", "_all_gather_base", "all_to_all_single", "batch_isend_irecv"}
}

// add takes a row of the call into account.
func (c *call) add(r *Row) {
	c.first = min(c.first, r.Seq)
	norm := r.finiteNormError()
	ratio, cosine := 1.0, 1.0
	if r.Raw != nil {
		ratio, cosine = valueOr(r.Raw.ThousandthRatio, 1), valueOr(r.Raw.Cosine, 1)
	}
	if r.isOutput() {
		c.firstOutput = min(c.firstOutput, r.Seq)
		c.errorOut, c.ratioOut, c.cosineOut = max(c.errorOut, norm), min(c.ratioOut, ratio), min(c.cosineOut, cosine)
		return
	}
	c.hasInput = true
	c.errorIn, c.ratioIn, c.cosineIn = max(c.errorIn, norm), min(c.ratioIn, ratio), min(c.cosineIn, cosine)
}

func valueOr(v *float64, otherwise float64) float64 {
	if v == nil {
		return otherwise
	}
	return *v
}

// isJudged says whether rules speak of a row of the call; isJudgedWhole, whether those do that hold outputs against inputs.
func (c *call) isJudged(r *Row) bool {
	return !c.hasInput || !c.isIgnored && (r.isOutput() || !c.ignoresInput)
}

func (c *call) isJudgedWhole() bool { return !c.hasInput || !c.isIgnored && !c.ignoresInput }

// judge says by which rules a row is not as it should be.
func (c *call) judge(mode Mode, r *Row) (messages []string) {
	if mode == MD5 {
		return c.judgeChecksums(r)
	}
	say := func(holds bool, message string) {
		if holds {
			messages = append(messages, message)
		}
	}
	judged, whole := c.isJudged(r), c.isJudgedWhole()
	statistics := whole && mode == Statistics
	tensors := whole && mode == Tensor && r.Seq == c.firstOutput
	say(judged && r.Problem.isNotFinite() && !r.Bench.isNotFinite(), "error: There is nan/inf/-inf in the maximum or minimum value of NPU.")
	say(statistics && r.isOutput() && c.errorIn < 0.1 && r.normErrorExceeds(0.5), "error: The NormRelativeErr of output is greater than 0.5.")
	say(tensors && c.ratioIn > 0.9 && c.ratioOut < 0.1, "error: The input/parameters of One Thousandth Err Ratio > 0.9 while the output < 0.6.")
	say(judged && r.Paired && r.Problem.Grad != r.Bench.Grad, "error: The Required_Grad of NPU and Bench are inconsistent")
	say(whole && r.Paired && !r.isOutput() && r.isOtherScalar(), "error: The scalar parameters of NPU and Bench are inconsistent.")
	say(judged && r.Paired && r.Problem.Dtype != r.Bench.Dtype, "error: The dtype of NPU and Bench are inconsistent.")
	say(judged && r.Paired && r.Problem.Shape != r.Bench.Shape, "error: The shape of NPU and Bench are inconsistent.")
	say(statistics && r.Seq == c.firstOutput && c.amplifies(), "warning: The norm relative error of output is 10 times that of input.")
	say(tensors && c.cosineIn > 0.9 && c.cosineIn-c.cosineOut > 0.1, "warning: The input/parameters of Cosine > 0.9, and input/parameters - output > 0.1")
	return messages
}

func (c *call) judgeChecksums(r *Row) []string {
	switch {
	case !c.isJudged(r) || r.Problem.Checksum == r.Bench.Checksum:
		return nil
	case r.Problem.Checksum == notApplicable || r.Bench.Checksum == notApplicable:
		return []string{"warning: The parameter of NPU does not match the bench."}
	}
	return []string{"error: The CRC-32 value of NPU differs from that of the bench."}
}

// amplifies says whether the error of the outputs is far greater than that of the inputs.
func (c *call) amplifies() bool {
	if c.errorIn == 0 {
		return c.errorOut > 0.1
	}
	return c.errorOut/c.errorIn > 10
}

// isNotFinite says whether the greatest or the least element is known to be NaN or infinite.
func (s *Side) isNotFinite() bool {
	most, least := s.Statistics[Max], s.Statistics[Min]
	return most.Known && !isFinite(most.Value) || least.Known && !isFinite(least.Value)
}

func (r *Row) normErrorExceeds(limit float64) bool {
	e := r.RelativeErrors[Norm]
	return e.Known && math.Abs(e.Value) > limit
}

// isOtherScalar says whether a value of Python is another one. A zero is a zero, whatever its sign.
func (r *Row) isOtherScalar() bool {
	if !strings.HasPrefix(r.Problem.Dtype, "<class") || r.Problem.Shape != "[]" || r.Problem.Value == r.Bench.Value {
		return false
	}
	p, b := r.Problem.Statistics[Max], r.Bench.Statistics[Max]
	return r.Problem.Dtype != "<class 'float'>" || !p.Known || !b.Known || p.Value != b.Value
}

// noMessage is an empty list.
const noMessage = "[]"

// resultOf is the worst that the messages say, and they as JSON.
func resultOf(messages []string) (Result, string) {
	if len(messages) == 0 {
		return Pass, noMessage
	}
	result := Warning
	if slices.ContainsFunc(messages, func(m string) bool { return strings.HasPrefix(m, "error") }) {
		result = Error
	}
	return result, `["` + strings.Join(messages, `", "`) + `"]`
}
