// Package msprobedump writes stored observations as msProbe writes its dumps: dump.json, stack.json and construct.json
// of one rank at one step, so that tools which read those read ours.
package msprobedump

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tensortap/tensortap/schemas"
)

// Dump is what one rank observed at one step.
type Dump struct {
	Level      string // L0, L1, mix and so on
	Task       string // as run.task
	Framework  string // pytorch or mindspore; empty is pytorch
	Source     string // run.source: what msprobe reported is written as it was, other numbers as msProbe would have made them
	Ops        []Op   // in the order of their completion
	Frames     map[uint64][]string
	Lost       uint64 // what of the step is missing
	LostReason string
	LostTimeNs int64
	// Raw writes raw tensors into a folder that is not there yet, and sets the DataName of each of their values. It may be nil.
	Raw func(dir string) error

	dataDir string // of raw tensors; empty without any
}

// Op is one op of a step.
type Op struct {
	Name      string
	Phase     string // as op.phase
	Parent    string // empty when there is none
	MicroStep uint16
	Stack     uint64 // key of Dump.Frames; 0 when not known
	Values    []Value
}

// Value is one tensor, or other argument, of an op.
type Value struct {
	Role   string // as site.role
	Path   string // as site.path
	Layout *schemas.LayoutRow
	Row    schemas.TensorRow
	// DataName is the name of the file of the raw tensor; empty for none.
	DataName string
}

// Folder is where the dump of a rank at a step lies below that of a run.
func Folder(dir string, step, rank uint32) string {
	return filepath.Join(dir, fmt.Sprintf("step%d", step), fmt.Sprintf("rank%d", rank))
}

// Write writes the files into a new folder. A folder that is there already is an error: two dumps in one make none.
func (d *Dump) Write(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil { //nolint:gosec // the user's umask decides
		return fmt.Errorf("make the folder of a step: %w", err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil { //nolint:gosec // likewise
		return fmt.Errorf("make the folder of a rank, which must not be there yet: %w", err)
	}
	if err := d.writeRaw(filepath.Join(dir, "dump_tensor_data")); err != nil {
		return err
	}
	for name, write := range map[string]func(*printer){"dump.json": d.writeOps, "stack.json": d.stacks(), "construct.json": d.parents()} {
		if write == nil {
			continue
		}
		if err := create(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	return d.writeErrorLog(filepath.Join(dir, "dump_error_info.log"))
}

// writeRaw comes first: dump.json says which raw tensors there are.
func (d *Dump) writeRaw(dir string) (err error) {
	if d.Raw == nil {
		return nil
	}
	if d.dataDir, err = filepath.Abs(dir); err != nil {
		return err
	}
	return d.Raw(dir)
}

// create writes one file.
func create(path string, write func(*printer)) error {
	file, err := os.Create(path) //nolint:gosec // in the folder that the user named
	if err != nil {
		return fmt.Errorf("write a dump: %w", err)
	}
	p := newPrinter(file)
	write(p)
	if err := errors.Join(p.out.Flush(), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
