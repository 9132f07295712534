// Package sglangdumper reads the folders of SGLang's dumper, which has a file of torch.save for each value that its
// hooks saw or its user gave it.
//
// [Find] lists the dumps at a path, one [Dump] per step and rank. [Open] gives a [Source] for one of them, whose
// batches are the rows of its ops and tensors as messages. Statistics are computed here, from the tensors; the
// tensors stay in their files. Identity and batches depend on the files' names and content alone. Files are read
// without running their pickle. An unreadable file is counted and named, and the others count.
package sglangdumper

import (
	"errors"

	"github.com/tensortap/tensortap/producers"
)

// Dump is the files that one rank saved in one step.
type Dump struct {
	Step      uint32
	Rank      uint32
	Dir       string
	ModTimeNs int64 // modification time of its latest file, in UTC nanoseconds

	files []file // in the order in which they were saved
}

// Found lists the dumps at a path.
type Found struct {
	Dumps    []Dump             // by step, then rank
	Problems producers.Problems // files that are none of the dumper's
}

// ErrNoDump is the cause when a path leads to no dump at all. Its caller shows the error, which says what is at the
// path.
var ErrNoDump = errors.New("no dump of SGLang's dumper")
