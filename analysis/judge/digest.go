package judge

import (
	"math"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// digest compares checksums of the same kind; other kinds decide nothing.
type digest struct {
	kind          uint8 // schemas.Digest…; DigestNone where the sides have not the same
	same, differs bool
}

func digestOf(problem, bench *rows.Observation) digest {
	if problem.DigestKind != bench.DigestKind || problem.DigestKind == schemas.DigestNone {
		return digest{}
	}
	same := problem.Digest == bench.Digest
	return digest{kind: problem.DigestKind, same: same, differs: !same}
}

// proves says whether the bits are the same. msProbe's checksums do not prove it: CRC-32 is taken at another time than
// the statistics where ops work in place, and xor does not see the order of elements.
func (d digest) proves() bool { return d.same && d.kind == schemas.DigestTap }

// told is the comparison of raw tensors, if it could measure the error.
func told(p *Payload) *Payload {
	if p == nil || math.IsNaN(p.Error) {
		return nil
	}
	return p
}
