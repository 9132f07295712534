package testbed

import (
	"fmt"
	"testing"
)

// Keeper is a test to a spool, whose files it closes before the test ends; in a program, where there is no test, all of one. It is
// not safe for use by several goroutines.
type Keeper struct {
	testing.TB

	ends   []func()
	failed error
}

// Helper implements testing.TB.
func (*Keeper) Helper() {}

// Cleanup implements testing.TB.
func (k *Keeper) Cleanup(end func()) { k.ends = append(k.ends, end) }

// Fatal implements testing.TB: it returns, and Err tells of it.
func (k *Keeper) Fatal(args ...any) { k.failed = fmt.Errorf("write a spool: %s", fmt.Sprint(args...)) }

// Err is what went wrong last.
func (k *Keeper) Err() error { return k.failed }

// End closes what is open.
func (k *Keeper) End() {
	for _, end := range k.ends {
		end()
	}
}
