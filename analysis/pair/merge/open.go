package merge

import (
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// OpenSum is what is known of the sum of the parts that the ranks of a group hold of a tensor, where the other run has added it
// up: its ranks hold one value, of the same shape. Both lists have an observation of each rank of their group. It is nil where
// the parts are copies or shards, or where the sum is open in both runs.
func OpenSum(own, other []rows.Observation, definitions *rows.Definitions) *schemas.TensorRow {
	ofOther := partsOf(other, definitions)
	if len(own) == 0 || len(other) == 0 || !ofOther.sameOnAll() {
		return nil
	}
	p := partsOf(own, definitions)
	p.otherSize, p.found, p.other = 1, true, ofOther.layouts[0]
	w := p.whole()
	if w.sort != sums {
		return nil
	}
	return &w.TensorRow
}

func partsOf(list []rows.Observation, definitions *rows.Definitions) *parts {
	p := &parts{list: list, members: int64(len(list)), layouts: make([]*schemas.LayoutRow, len(list))}
	for i := range list {
		p.layouts[i] = defined(definitions, list[i].LayoutID)
	}
	return p
}
