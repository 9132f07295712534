package judge

import (
	"math"

	"github.com/tensortap/tensortap/analysis/rows"
)

// Config says how a comparison is judged, beside the rules that always hold.
type Config struct {
	Tolerance  float64         // greatest relative error that is tolerated; below 0: one by dtype and depth
	Rules      []ToleranceRule // go before Tolerance; the first that fits counts
	Exceptions []Exception     // the user's own, after those built in
	Spread     map[uint64]Band // by site of the bench: how far three benches or more lie apart
	// Calibrated has what tensors may differ by where that is more than by dtype and depth, by site of the bench: another run of
	// the bench's program differs so.
	Calibrated map[uint64]float64
	// Implementations has what does not count where the runs are two implementations of one model; nil where they are one.
	Implementations *Implementations
}

// DefaultConfig tolerates errors by dtype and depth.
func DefaultConfig() Config { return Config{Tolerance: -1} }

// Rules judge the pairs of one comparison. Once made they may be used by several goroutines at once, as long as
// nobody writes to the definitions meanwhile. Definitions may grow between calls: rules of a new site or layout are
// made when it appears. Programs and main dtypes are the arguments of New; as a run grows, make new Rules, which is
// cheap.
type Rules struct {
	config       Config
	tolerances   []toleranceRule
	exceptions   []exception
	definitions  *rows.Definitions
	parents      map[uint64]uint64 // ops of the programs of either run, with the module that calls them
	layers       int32             // how many the programs have
	mainDtype    [2]string         // of problem and bench
	mainRoundoff float64
	sources      [2]string // which observed problem and bench

	sites   cache[uint64, siteRule]
	layouts cache[layoutIDs, layoutPair]
	apis    cache[string, []exception]
	places  cache[place, []string]
}

// New prepares the rules of a comparison. Its error is a *MalformedExceptionError.
func New(cfg Config, problem, bench *rows.Run, definitions *rows.Definitions) (*Rules, error) {
	exceptions, err := compileExceptions(append(BuiltInExceptions(), cfg.Exceptions...))
	if err != nil {
		return nil, err
	}
	r := &Rules{
		config: cfg, tolerances: readTolerances(cfg.Rules), exceptions: exceptions, definitions: definitions,
		mainDtype:    [2]string{problem.MainDtype, bench.MainDtype},
		mainRoundoff: max(roundoff(problem.MainDtype), roundoff(bench.MainDtype)),
		sources:      [2]string{problem.Described.Source, bench.Described.Source},
	}
	r.parents = parentsOf(definitions, problem, bench)
	r.layers = r.countLayers()
	return r, nil
}

// dtypesDiffer says whether most tensors of one run have another float dtype than most of the other.
func (r *Rules) dtypesDiffer() bool {
	return r.mainDtype[0] != "" && r.mainDtype[1] != "" && r.mainDtype[0] != r.mainDtype[1]
}

// Judge judges a pair by the recorded evidence; payload is nil where raw tensors were not compared.
func (r *Rules) Judge(p *Pair, at Setting, payload *Payload) Verdict {
	if r.config.Implementations != nil {
		if reason := r.notComparable(p); reason != "" {
			return leftApart(p, reason)
		}
	}
	if !p.Paired() {
		return judgeAlone(p, at)
	}
	if r.config.Implementations != nil {
		p = r.levelled(p)
	}
	c := r.compare(p, payload)
	numeric := c.numeric()
	v := Verdict{
		Numeric: numeric, Evidence: c.evidence(numeric), Side: c.finiteness.side(), Structure: c.structure,
		Tolerance: math.NaN(), Reason: c.reason(numeric),
	}
	v.Error, v.ErrorLow, v.ErrorHigh = c.errors()
	v.ZScore = c.band.zScore(v.Error)
	if numeric == NumericNotFinite {
		v.Error, v.ErrorLow, v.ErrorHigh = math.NaN(), math.NaN(), math.NaN()
	}
	if (numeric == NumericWithin || numeric == NumericAgrees || numeric == NumericDiverged) && !math.IsNaN(v.Error) {
		v.Tolerance = c.tolerated
	}
	v.Class = c.class(numeric)
	v.Differs = c.differs(v.Class, v.Reason)
	return v
}

// judgeAlone judges a tensor without partner; it makes no difference of the runs by itself.
func judgeAlone(p *Pair, at Setting) Verdict {
	nan := math.NaN()
	v := Verdict{Class: Unknown, Side: SideBench, Error: nan, ErrorLow: nan, ErrorHigh: nan, Tolerance: nan, ZScore: nan}
	if p.InProblem {
		v.Side = SideProblem
	}
	v.Reason = reasonAlone(p, at)
	if v.Reason == ReasonOnlyProblem || v.Reason == ReasonOnlyBench {
		v.Class = Unpaired
	}
	return v
}
