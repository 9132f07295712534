package testbed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/schemas"
)

// Tallied is the rows of one step of a rank whose calls were counted.
type Tallied struct {
	Calls    map[string]uint64 // how often, by "op (inputs) -> outputs"
	Failures []schemas.FailureRow
	Ops      map[uint64]string // names
	Ranks    []schemas.RankRow
	Step     schemas.StepRow
}

// ReadTallied reads all messages of a source.
func ReadTallied(tb testing.TB, source producers.Source) Tallied {
	tb.Helper()
	told := Tallied{Calls: map[string]uint64{}, Ops: map[uint64]string{}}
	signatures, tallies := map[uint64]string{}, []schemas.TallyRow{}
	for m, err := range source.Content.Batches(tb.Context()) {
		if err != nil {
			tb.Fatal(err)
		}
		switch m.Header.Kind {
		case "signature":
			for _, s := range decode[schemas.SignatureRow](tb, m) {
				signatures[s.SignatureID] = fmt.Sprintf("%s (%s) -> %s", s.OpName, strings.Join(s.Inputs, ", "), strings.Join(s.Outputs, ", "))
			}
		case "tally":
			tallies = append(tallies, decode[schemas.TallyRow](tb, m)...)
		case "op":
			for _, op := range decode[schemas.OpRow](tb, m) {
				told.Ops[op.OpID] = op.Name
			}
		case "failure":
			told.Failures = append(told.Failures, decode[schemas.FailureRow](tb, m)...)
		case "rank":
			told.Ranks = append(told.Ranks, decode[schemas.RankRow](tb, m)...)
		case "step":
			told.Step = decode[schemas.StepRow](tb, m)[0]
		}
	}
	for _, row := range tallies {
		told.Calls[signatures[row.SignatureID]] += row.CallCount
	}
	return told
}

func decode[R any, P schemas.Row[R]](tb testing.TB, m schemas.Message) []R {
	tb.Helper()
	decoded, err := schemas.DecodeRows[R, P](m)
	if err != nil {
		tb.Fatal(err)
	}
	return decoded
}
