package retention

import (
	"slices"

	"github.com/tensortap/tensortap/schemas"
)

// Parts of a run that may go while the run stays; the whole has no name. Names are as people and tables know them.
const (
	Whole    = ""
	Payloads = "payloads" // raw tensors and traces
	Logs     = "logs"
	Details  = "details" // tensors and all else of which there is much, but for aggregates and verdicts; the other parts, too
)

// details are the kinds of which there are many rows, and that no verdict or list of runs rests on.
func details() []string {
	return []string{
		schemas.Tensor().Kind(), schemas.Payload().Kind(), schemas.Log().Kind(), schemas.Call().Kind(), schemas.Collective().Kind(), schemas.Memory().Kind(),
		schemas.Allocation().Kind(), schemas.Request().Kind(), schemas.RequestEvent().Kind(), schemas.Token().Kind(), schemas.TokenSite().Kind(),
	}
}

// Goes says whether events of a kind go with a part of their run.
func Goes(part, kind string) bool {
	switch part {
	case Whole:
		return schemas.OfRun(kind)
	case Payloads:
		return kind == schemas.Payload().Kind()
	case Logs:
		return kind == schemas.Log().Kind()
	case Details:
		return slices.Contains(details(), kind)
	}
	return false // of a later version
}

// kindsOf are the kinds that go with a part of their run.
func kindsOf(part string) []string {
	var kinds []string
	for _, table := range schemas.Tables() {
		if Goes(part, table.Kind()) {
			kinds = append(kinds, table.Kind())
		}
	}
	return kinds
}

// Covers says whether all of a part goes with another.
func Covers(other, part string) bool {
	return other == part || other == Whole || other == Details && (part == Payloads || part == Logs)
}
