package report

import "slices"

// FailureNotFinite is the type of a failure that nobody raised: an op made the first value of its rank that is not finite.
const FailureNotFinite = "not finite"

// FailureNotFiniteRaised is its type where the program asked for an exception.
const FailureNotFiniteRaised = "tensortap.NotFinite"

// Raised are the failures that are exceptions.
func Raised(failures Table) Table {
	raised := failures
	raised.Rows = nil
	for i, row := range failures.Rows {
		if failures.Get(i, "type").Exact != FailureNotFinite {
			raised.Rows = append(raised.Rows, row)
		}
	}
	return raised
}

// IsNotFinite says whether a failure tells of a value that is not finite.
func IsNotFinite(failures Table, i int) bool {
	return slices.Contains([]string{FailureNotFinite, FailureNotFiniteRaised}, failures.Get(i, "type").Exact)
}
