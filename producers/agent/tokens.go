package agent

import (
	"slices"

	"github.com/tensortap/tensortap/schemas"
)

// sequence keeps what the tokens that follow have in common: the record itself, as a checkpoint may lie between them.
func (t *translator) sequence(memory []byte) {
	t.Sequence = slices.Clone(memory[:schemas.SpoolCommitOffset])
}

// tokens translates up to four tokens of the last sequence. Those of another, whose record is lost, are counted as lost, too.
func (t *translator) tokens(position uint64, memory []byte) error {
	var r schemas.SpoolTokens
	r.Load(memory)
	of, known := t.lastSequence(r.Sequence)
	count := min(r.TokenCount, schemas.SpoolTokensOfRecord)
	if !known {
		return t.loseBeside(uint64(count), reasonUndefined)
	}
	row := t.tokenOf(&of)
	ids := [...]uint32{r.Token0, r.Token1, r.Token2, r.Token3}
	logs := [...]float32{r.LogProbability0, r.LogProbability1, r.LogProbability2, r.LogProbability3}
	entropies := [...]float32{r.Entropy0, r.Entropy1, r.Entropy2, r.Entropy3}
	for i := range count {
		row.Seq, row.Position = schemas.SpoolTokensOfRecord*position+uint64(i), r.Position+i
		row.TokenID, row.LogProbability = ids[i], float64(logs[i])
		if of.Flags&schemas.SpoolEntropies != 0 {
			entropy := float64(entropies[i])
			row.Entropy = &entropy
		}
		if err := measure(t.out, t.out.token, &t.out.rows, &row, len(row.Phase)); err != nil {
			return err
		}
	}
	return nil
}

// lastSequence is the last sequence, and whether it has that number.
func (t *translator) lastSequence(number uint32) (of schemas.SpoolSequence, known bool) {
	if t.Sequence != nil {
		of.Load(t.Sequence)
	}
	return of, number != 0 && of.Number == number
}

// tokenOf is what the rows of a sequence have in common.
func (t *translator) tokenOf(r *schemas.SpoolSequence) schemas.TokenRow {
	step := r.Step + t.first
	row := schemas.TokenRow{
		RunID: t.out.id.RunID, Rank: t.out.id.Rank, Epoch: t.out.id.Epoch, EventTimeNs: r.TimeNs,
		Step: step, GlobalStep: uint64(step), PromptHash: r.PromptHash, Sample: r.Sample, CachedTokenCount: lessOne(r.CachedTokenCount),
	}
	row.Phase, _ = at(t.known.texts, r.Phase)
	if r.GlobalStep > 0 {
		row.GlobalStep = uint64(r.GlobalStep) - 1
	}
	if r.WeightsVersion > 0 {
		version := uint64(r.WeightsVersion) - 1
		row.WeightsVersion = &version
	}
	if r.Flags&schemas.SpoolTemperature != 0 {
		temperature := float64(r.Temperature)
		row.Temperature = &temperature
	}
	return row
}

// weight is a parameter after an update. Without its name it would be nobody's.
func (t *translator) weight(position uint64, memory []byte) error {
	var r schemas.SpoolWeight
	r.Load(memory)
	name, known := at(t.known.texts, r.Name)
	if !known || name == "" {
		return t.loseBeside(1, reasonUndefined)
	}
	row := schemas.WeightRow{
		RunID: t.out.id.RunID, Rank: t.out.id.Rank, Epoch: t.out.id.Epoch, EventTimeNs: r.TimeNs,
		Step: r.Step + t.first, Seq: position, Version: uint64(r.Version), Name: name, Checksum: r.Checksum,
	}
	row.Description, _ = at(t.known.texts, r.Description)
	return measure(t.out, t.out.weight, &t.out.rows, &row, len(name)+len(row.Description))
}

// loseBeside counts what was lost of records that may also come between steps.
func (t *translator) loseBeside(count uint64, why string) error {
	if t.Step == nil {
		return t.droppedBetween(t.TimeNs, count, why)
	}
	t.Step.lose(count, why)
	return nil
}
