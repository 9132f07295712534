package overflow

import (
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// suspect is a tensor, or other argument, that is not finite. What excuses it is a known exception, that it is an infinite
// argument, or that it is a mask of -Inf which was handed on.
type suspect struct {
	rows.Observation
	site    schemas.SiteRow // zero where it is not known
	mask    bool            // holds nothing worse than -Inf
	masks   bool            // at a place where that is known to be no fault
	excused bool
}

func (j *job) suspect(row rows.Observation) suspect {
	s := suspect{Observation: row, site: j.definitions.Sites[row.SiteID], mask: isMask(&row)}
	sorts := j.rules.Excused(row.SiteID)
	s.masks = slices.Contains(sorts, judge.SortNegativeInfinity)
	switch argument := isArgument(j.definitions.LayoutOrZero(row.LayoutID)); {
	case slices.Contains(sorts, judge.SortUninitialised), slices.Contains(sorts, judge.SortNotFinite):
		s.excused = true
	case s.mask:
		s.excused = s.masks || argument
	default:
		s.excused = argument && !math.IsNaN(row.Max)
	}
	return s
}

func isMask(row *rows.Observation) bool {
	return row.NaNCount+row.PositiveInfinityCount == 0 &&
		!math.IsNaN(row.Min) && !math.IsNaN(row.Max) && !math.IsNaN(row.Mean) && !math.IsInf(row.Min, 1) && !math.IsInf(row.Max, 1)
}

func isArgument(layout *schemas.LayoutRow) bool { return layout.Kind != "tensor" && layout.Kind != "" }

// followMasks excuses, in one step of one rank, what is handed on of a mask: what an op takes that holds nothing worse
// than -Inf, after a place where that is known to be no fault, and what such an op makes of it.
func followMasks(suspects []suspect) {
	begin := firstMask(suspects)
	if begin == 0 {
		return
	}
	masked := map[uint64]bool{} // ops that take a mask
	for i := range suspects {
		s := &suspects[i]
		if s.mask && s.Seq > begin && (s.site.Role == "input" || s.site.Role == "kwarg") {
			masked[s.site.OpID] = true
		}
	}
	for i := range suspects {
		s := &suspects[i]
		s.excused = s.excused || s.mask && masked[s.site.OpID]
	}
}

// firstMask is where the first mask stands; 0 where there is none, or none before it could be handed on.
func firstMask(suspects []suspect) uint64 {
	begin := uint64(math.MaxUint64)
	for i := range suspects {
		if s := &suspects[i]; s.mask && s.masks {
			begin = min(begin, s.Seq)
		}
	}
	if begin == math.MaxUint64 {
		return 0
	}
	return begin
}
