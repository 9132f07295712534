package retention

import (
	"github.com/tensortap/tensortap/schemas"
)

// Parts of a run that may go while the run stays; the whole has no name. Names are as people and tables know them.
const (
	Whole    = ""
	Payloads = "payloads" // raw tensors and traces
	Logs     = "logs"
	Details  = "details" // all that was measured, but for aggregates and verdicts; the other parts, too
)

// kept are kinds of measurements that stay when details go: there are few of them, or others rest on them.
func kept(kind string) bool {
	switch kind {
	case schemas.Step().Kind(), schemas.Heartbeat().Kind(), schemas.Metric().Kind(), schemas.Failure().Kind(), schemas.Unseen().Kind():
		return true
	}
	return false
}

// Goes says whether events of a kind go with a part of their run.
func Goes(part, kind string) bool {
	table, known := schemas.TableByKind(kind)
	switch part {
	case Whole:
		return schemas.OfRun(kind)
	case Payloads:
		return kind == schemas.Payload().Kind()
	case Logs:
		return kind == schemas.Log().Kind()
	case Details:
		return known && table.Class == schemas.Measurement && !table.Judged && !kept(kind)
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
