package agent

import "github.com/tensortap/tensortap/schemas"

func (t *translator) request(position uint64, memory []byte) error {
	if t.step() == nil { // the step before it served something else
		return nil
	}
	var r schemas.SpoolRequest
	r.Load(memory)
	row := schemas.RequestRow{
		RunID: t.out.id.RunID, Rank: t.out.id.Rank, Epoch: t.out.id.Epoch, EventTimeNs: r.TimeNs,
		Step: t.stepNumber(), Seq: position, PromptHash: r.PromptHash, TokenCount: r.TokenCount,
		PromptTokenCount: lessOne(r.PromptTokenCount), FirstPosition: lessOne(r.FirstPosition), RowOffset: lessOne(r.RowOffset),
	}
	row.Request, _ = at(t.known.texts, r.Name)
	row.Phase, _ = at(t.known.texts, r.Phase)
	return measure(t.out, t.out.request, &t.out.rows, &row, len(row.Request)+len(row.Phase))
}

// lessOne is a number that is written plus one, so that 0 says that it is not known.
func lessOne[N uint32 | uint64](number N) *N {
	if number == 0 {
		return nil
	}
	number--
	return &number
}
