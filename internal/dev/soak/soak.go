// Package soak separates the tests and cases of make test from those of make soak alone: docs/RELIABILITY.md says which promise is held where.
package soak

import (
	"os"
	"testing"
)

// variable is set by make soak.
const variable = "TENSORTAP_SOAK"

// InFull tells a test that tries a sample of its cases in make test to try all of them.
func InFull() bool { return os.Getenv(variable) != "" }

// Only leaves a test to make soak, where another test holds the same promise in make test.
func Only(tb testing.TB) {
	tb.Helper()
	if !InFull() {
		tb.Skip("SKIPPED: make soak runs it")
	}
}
