package agent

import (
	"math"

	"github.com/tensortap/tensortap/schemas"
)

// tokenSites translates what up to three tokens of the last sequence are at a place of the model.
func (t *translator) tokenSites(memory []byte) error {
	var r schemas.SpoolTokenSites
	r.Load(memory)
	count := min(r.Site&0xff, schemas.SpoolSitesOfRecord)
	of, known := t.lastSequence(r.Sequence)
	if !known {
		return t.loseBeside(uint64(count), reasonUndefined)
	}
	row := schemas.TokenSiteRow{
		RunID: t.out.id.RunID, Rank: t.out.id.Rank, Epoch: t.out.id.Epoch, EventTimeNs: of.TimeNs,
		Step: of.Step + t.first, PromptHash: of.PromptHash, Sample: of.Sample, RowCount: of.RowCount,
		Place: uint8(r.Site >> 8 & 0xff), Layer: uint16(r.Site >> 16), //nolint:gosec // the bits that are left fit
	}
	norms, means := [...]float32{r.Norm0, r.Norm1, r.Norm2}, [...]float32{r.Mean0, r.Mean1, r.Mean2}
	low, high := [...]uint32{r.SumsLow0, r.SumsLow1, r.SumsLow2}, [...]uint32{r.SumsHigh0, r.SumsHigh1, r.SumsHigh2}
	for i := range count {
		row.Position = r.Position + i
		fillSums(&row, norms[i], low[i], high[i])
		row.MeanBits = math.Float32bits(means[i])
		if err := measure(t.out, t.out.tokenSite, &t.out.rows, &row, 0); err != nil {
			return err
		}
	}
	return nil
}

// fillSums takes the sums of a token's elements or, where one of them is not finite, how many are not.
func fillSums(row *schemas.TokenSiteRow, norm float32, low, high uint32) {
	row.NormBits, row.NaNCount = math.Float32bits(norm), 0
	if math.IsInf(float64(norm), 0) || math.IsNaN(float64(norm)) {
		row.NaNCount, low, high = low, 0, 0
	}
	row.Sum0, row.Sum1 = int16(low), int16(low>>16)   //nolint:gosec // two sums of 16 bits in each
	row.Sum2, row.Sum3 = int16(high), int16(high>>16) //nolint:gosec // likewise
}
