// Package sglangdumper reads the folders of SGLang's dumper, which has a file of torch.save for each value that its
// hooks saw or its user gave it.
//
// [Find] lists what lies at a path, one [Dump] per step and rank. [Open] gives a [Source] for one of them, whose batches
// are the rows of its ops and tensors as messages: statistics are computed here, from the tensors, which stay where they
// are. Both identity and batches depend on the files' names and content alone. Files are read without running their
// pickle; one that cannot be read is counted and named, and the others count.
package sglangdumper

import "errors"

// Dump is what one rank saved in one step.
type Dump struct {
	Step      uint32
	Rank      uint32
	Dir       string
	ModTimeNs int64 // modification time of its latest file, in UTC nanoseconds

	files []file // in the order in which they were saved
}

// Found is what a path leads to.
type Found struct {
	Dumps    []Dump   // by step, then rank
	Problems Problems // files that are none of the dumper's
}

// Problems is a bounded list: the first ones, and how many there were.
type Problems struct {
	First []string
	Count int
}

const maxProblems = 100

func (p *Problems) add(problem string) {
	p.Count++
	if len(p.First) < maxProblems {
		p.First = append(p.First, problem)
	}
}

// ErrNoDump is the cause when a path leads to no dump at all. Its caller shows the error, which says what was there.
var ErrNoDump = errors.New("no dump of SGLang's dumper")
