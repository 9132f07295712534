// Package msprobe reads the dumps of Ascend msProbe.
//
// [Find] lists the dumps at a path, one [Dump] per step and rank. [Open] gives a [Source] for one
// of them, whose batches are the rows of its ops, tensors, stacks and program as messages. Identity
// and batches depend on the content of the files alone, so that publishing a dump again changes
// nothing. Reading needs memory for one op and some 50 bytes per op, not for the file.
package msprobe

import "errors"

// Names of the files that msProbe writes for one step of one rank.
const (
	dumpFile      = "dump.json"
	stackFile     = "stack.json"
	constructFile = "construct.json"
	debugFile     = "debug.json"
	errorLogFile  = "dump_error_info.log"
)

// Dump is the folder of one step of one rank.
type Dump struct {
	Step       uint32
	Rank       uint32
	Guessed    bool // the rank is a position in the order of process ids
	Dir        string
	SourceName string // msProbe's name of the rank: rank0, proc4711; empty when the folder has no such name
	ModTimeNs  int64  // modification time of its main file, in UTC nanoseconds
}

// Found lists the dumps at a path.
type Found struct {
	Path         string // as given
	Root         string // folder that holds the steps
	Dumps        []Dump // by step, then rank
	RanksGuessed bool
	Problems     Problems // folders that look like a part of a dump and hold none
}

// ErrNoDump is the cause when a path leads to no dump at all. Its caller shows the error, which says what is at the
// path.
var ErrNoDump = errors.New("no msProbe dump")
