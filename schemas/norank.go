package schemas

import "math"

// NoRank is in the rows of what belongs to a run and to none of its ranks, as the log of a tokenizer. It is no rank in any
// view or report.
const NoRank = math.MaxUint32
