package judge

import (
	"math"

	"github.com/tensortap/tensortap/schemas"
)

// numeric is the verdict on the numbers alone, by the strongest evidence there is.
func (c *compared) numeric() Numeric {
	switch {
	case c.finiteness.isFault():
		return NumericNotFinite
	case c.payload != nil:
		return c.numericByPayload()
	case c.marked:
		return c.numericOfMarked()
	case c.digest.proves() || c.sameLiteral:
		return NumericEqual
	case c.byStatistics() || (c.bySketch() && c.sketch.low > c.tolerated):
		return NumericDiverged
	case c.oneSided():
		return NumericNone
	case c.sketchIsWithin():
		return NumericWithin
	case c.onlyBitsDiffer():
		return NumericNone
	case !c.statistics.none || c.sketch.both || c.digest.same:
		return NumericAgrees
	default:
		return NumericNone
	}
}

func (c *compared) numericByPayload() Numeric {
	switch {
	case c.payload.SameBits:
		return NumericEqual
	case c.payload.Error <= c.tolerated:
		return NumericWithin
	default:
		return NumericDiverged
	}
}

// numericOfMarked is for parts that only add up over merged ranks: it can confirm that they do, but never the
// contrary, unless they are known to be parts of a sum.
func (c *compared) numericOfMarked() Numeric {
	switch {
	case c.sketch.both && c.sketchIsWithin():
		return NumericWithin
	case !c.sketch.both && !c.statistics.none && c.statistics.low <= 0:
		return NumericAgrees
	case c.sum && c.sketch.both && c.sketch.low > c.tolerated:
		return NumericDiverged
	default:
		return NumericNone
	}
}

func (c *compared) sketchIsWithin() bool {
	return c.bySketch() && c.sketch.error > 0 && c.sketch.high <= c.tolerated
}

// onlyBitsDiffer says whether digests differ where nothing else that was measured does.
func (c *compared) onlyBitsDiffer() bool {
	return c.digest.differs && (c.statistics.none || c.statistics.error <= 0) && (!c.sketch.both || c.sketch.error <= 0)
}

// evidence is the evidence of the verdict.
func (c *compared) evidence(numeric Numeric) Evidence {
	switch {
	case numeric == NumericNone && !c.digest.differs:
		return EvidenceNone
	case c.payload != nil:
		return EvidencePayload
	case c.digest.proves():
		return EvidenceDigest
	case c.sameLiteral:
		return EvidenceLiteral
	case c.bySketch():
		return EvidenceSketch
	case c.byStatistics() || (!c.digest.same && !c.statistics.none):
		return EvidenceStatistics
	default:
		return c.digest.evidence()
	}
}

func (d digest) evidence() Evidence {
	switch d.kind {
	case schemas.DigestCRC32:
		return EvidenceMsprobe
	case schemas.DigestXOR:
		return EvidenceXOR
	case schemas.DigestTap:
		return EvidenceDigest
	default:
		return EvidenceStatistics
	}
}

// errors are the error by the strongest evidence, and the least and the greatest that it may be.
func (c *compared) errors() (estimate, low, high float64) {
	switch {
	case c.payload != nil:
		return c.payload.Error, c.payload.Error, c.payload.Error
	case c.bySketch():
		estimate, low, high = c.sketch.error, greater(c.sketch.low, c.statistics.low), c.sketch.high
	default:
		estimate, low, high = c.statistics.error, c.statistics.low, math.Inf(1)
	}
	if math.IsNaN(estimate) {
		high = math.NaN()
	}
	return estimate, low, high
}

// class is the verdict on a pair.
func (c *compared) class(numeric Numeric) Class {
	switch {
	case c.structure && (!c.marked || numeric != NumericNone):
		return Structure
	case excusesAnyValue(c.sort):
		return Unknown
	}
	switch numeric {
	case NumericEqual:
		return Equal
	case NumericWithin:
		return Within
	case NumericAgrees:
		return Agrees
	case NumericDiverged:
		return Diverged
	case NumericNotFinite:
		return NotFinite
	case NumericNone:
	}
	return Unknown
}

// differs says whether a verdict makes the runs differ. The same NaN and infinity on both sides do not, and neither do
// bits alone where the digest is a foreign one and the statistics are the same.
func (c *compared) differs(class Class, reason string) bool {
	switch class {
	case Diverged, Structure:
		return true
	case NotFinite:
		return !c.finiteness.same()
	case Unknown:
		return reason == ReasonOneSidedMeasure ||
			(reason == ReasonBitsDiffer && (c.digest.kind == schemas.DigestTap || c.statistics.none))
	case Equal, Within, Agrees, Unpaired:
	}
	return false
}
