package judging

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/rules"
	"github.com/tensortap/tensortap/schemas"
)

// Comparison is what is asked for, and by which rules. Ranks and steps of the request are no part of it: they say how much of
// it is asked for now.
type Comparison struct {
	Request  compare.Request
	Strict   bool // what exists on one side only makes the runs differ
	Standing bool // every step is judged as it lands
}

// ID is the comparison's, whoever asks for it.
func (c Comparison) ID() uint64 {
	row := c.row(0)
	return schemas.DeclaredComparisonID(&row)
}

// row declares the comparison.
func (c Comparison) row(now int64) schemas.DeclaredComparisonRow {
	r := &c.Request
	r.Keep.Strict = c.Strict
	row := schemas.DeclaredComparisonRow{
		DeclaredTimeNs: now, Problem: r.Problem, Benches: r.Benches, Tolerance: r.Judge.Tolerance, StepOffset: r.StepOffset,
		Payloads: payloadsDigest(r.Payloads), Calibration: r.Calibrate, Rules: rules.Version,
	}
	for _, rule := range r.Judge.Rules {
		row.Tolerances = append(row.Tolerances, rule.Op+"\t"+rule.Dtype+"\t"+formatFloat(rule.Tolerance))
	}
	for _, e := range r.Judge.Exceptions {
		row.Exceptions = append(row.Exceptions, schemas.JoinWords([]string{e.API, e.Role, e.Path, e.Sort, e.Why}, '\t'))
	}
	if r.Map != nil {
		row.Mapping = r.Map.Text
	}
	if c.Strict {
		row.Strict = 1
	}
	if c.Standing {
		row.Standing = 1
	}
	row.ComparisonID = schemas.DeclaredComparisonID(&row)
	return row
}

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// payloadsDigest is a hash of what raw tensors said; 0 where they said nothing.
func payloadsDigest(told map[compare.PayloadPlace]judge.Payload) uint64 {
	if len(told) == 0 {
		return 0
	}
	hasher := xxh3.New()
	for _, at := range slices.SortedFunc(maps.Keys(told), comparePlaces) {
		said := told[at]
		record := binary.LittleEndian.AppendUint64(nil, uint64(at.Rank)<<32|uint64(at.Step))
		record = binary.LittleEndian.AppendUint64(record, at.ProblemSite)
		record = binary.LittleEndian.AppendUint64(record, at.BenchSite)
		record = binary.LittleEndian.AppendUint64(record, math.Float64bits(said.Error))
		record = strconv.AppendBool(record, said.SameBits)
		_, _ = hasher.Write(record) // a hash never fails
	}
	return hasher.Sum64()
}

func comparePlaces(a, b compare.PayloadPlace) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step), cmp.Compare(a.ProblemSite, b.ProblemSite), cmp.Compare(a.BenchSite, b.BenchSite))
}

// Of is the comparison that a row declares. Errors of raw tensors are not in the row: the caller adds those of today.
func Of(row *schemas.DeclaredComparisonRow) (Comparison, error) {
	c := Comparison{Request: compare.DefaultRequest(), Strict: row.Strict == 1, Standing: row.Standing == 1}
	r := &c.Request
	r.Problem, r.Benches, r.StepOffset, r.Judge.Tolerance = row.Problem, row.Benches, row.StepOffset, row.Tolerance
	r.Calibrate = row.Calibration
	for _, text := range row.Tolerances {
		words := strings.Split(text, "\t")
		tolerance, err := strconv.ParseFloat(words[len(words)-1], 64)
		if len(words) != 3 || err != nil {
			return c, fmt.Errorf("read comparison %s: tolerance %q: want a pattern of op, one of dtype and a number", schemas.FormatID(row.ComparisonID), text)
		}
		r.Judge.Rules = append(r.Judge.Rules, judge.ToleranceRule{Op: words[0], Dtype: words[1], Tolerance: tolerance})
	}
	for _, text := range row.Exceptions {
		words := schemas.SplitWords(text, '\t')
		if len(words) < 5 {
			return c, fmt.Errorf("read comparison %s: exception %q: want five columns", schemas.FormatID(row.ComparisonID), text)
		}
		r.Judge.Exceptions = append(r.Judge.Exceptions, judge.Exception{API: words[0], Role: words[1], Path: words[2], Sort: words[3], Why: strings.Join(words[4:], "\t")})
	}
	if row.Mapping == "" {
		return c, nil
	}
	var err error
	if r.Map, err = mapping.Parse("mapping", []byte(row.Mapping)); err != nil {
		return c, fmt.Errorf("read comparison %s: %w", schemas.FormatID(row.ComparisonID), err)
	}
	return c, nil
}
