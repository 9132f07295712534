package msprobe

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

// reading is one pass over the files of a dump: its counts so far, and the receiver of rows.
type reading struct {
	out   *batch.Set
	graph *graph

	dir         string
	eventTimeNs int64
	step        uint32
	report      func(Problem)
	ended       func() error // why the caller waits no more; nil where batches find out

	// rows are filled here, since a builder takes a pointer and the row would be allocated each time
	siteRow   schemas.SiteRow
	tensorRow schemas.TensorRow
	position  schemas.ProgramRow
	call      schemas.ProgramStackRow

	opCount      uint64
	tensorCount  uint64
	droppedCount uint64
	reasons      []string
	cut          bool
}

const (
	defaultDataDir = "dump_tensor_data"
	maxReasonBytes = 8 << 10
)

func (r *reading) problem(p Problem) { r.report(p) }

// dropped counts the loss of an op, and keeps each reason once.
func (r *reading) dropped(reason string) {
	r.droppedCount++
	if len(r.reasons) < maxProblems && !slices.Contains(r.reasons, reason) {
		r.reasons = append(r.reasons, reason)
	}
}

func (r *reading) addOp(row *schemas.OpRow) error {
	return batch.Add(r.out, r.out.Op, row, 2*len(row.Name))
}

// addPayload writes the place of a saved tensor relative to the dump's folder, which is the same on every host.
func (r *reading) addPayload(t *schemas.TensorRow, file, dataDir string) error {
	if !r.out.WantsPayloads() {
		return nil
	}
	folder := path.Base(strings.ReplaceAll(dataDir, `\`, "/"))
	if dataDir == "" || folder == "/" || folder == ".." || folder == "." {
		folder = defaultDataDir
	}
	location := folder + "/" + file
	row := schemas.PayloadRow{
		RunID: t.RunID, Rank: t.Rank, Epoch: t.Epoch, EventTimeNs: t.EventTimeNs, Step: t.Step, Seq: t.Seq,
		SiteID: t.SiteID, Location: location, SizeBytes: r.fileSize(location), Digest: t.Digest, DigestKind: t.DigestKind,
	}
	return r.out.AddPayload(&row)
}

func (r *reading) fileSize(location string) *uint64 {
	local := filepath.FromSlash(location)
	if !filepath.IsLocal(local) {
		return nil
	}
	info, err := os.Stat(filepath.Join(r.dir, local))
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	size := uint64(info.Size())
	return &size
}

// finish writes the rows that need the whole file: parents that did not run, the program, and the
// step.
func (r *reading) finish(generation uint32) error {
	program := r.graph.program()
	if len(r.graph.order) == 0 {
		program = 0
	}
	if err := r.addProgram(program); err != nil {
		return err
	}
	row := schemas.StepRow{
		RunID: r.out.ID.RunID, Rank: r.out.ID.Rank, Epoch: r.out.ID.Epoch, EventTimeNs: r.eventTimeNs,
		Step: r.step, Generation: generation, ProgramID: program, OpCount: r.opCount, TensorCount: r.tensorCount,
		DroppedCount: r.droppedCount, DropReason: clip(strings.Join(r.reasons, "; "), maxReasonBytes), Complete: 1,
	}
	if r.cut {
		row.Complete = 0
	}
	if err := batch.Add(r.out, r.out.Step, &row, 0); err != nil {
		return err
	}
	return r.out.Rest()
}

func (r *reading) addProgram(program uint64) error {
	for position, i := range r.graph.order {
		n := &r.graph.nodes[i]
		at := uint32(position) //nolint:gosec // the graph holds fewer nodes than that
		r.position = schemas.ProgramRow{ProgramID: program, Position: at, OpID: n.op, ParentOpID: n.parent}
		if err := batch.Add(r.out, r.out.Program, &r.position, 0); err != nil {
			return err
		}
		if n.stack == 0 {
			continue
		}
		r.call = schemas.ProgramStackRow{RunID: r.out.ID.RunID, ProgramID: program, Position: at, StackID: n.stack}
		if err := batch.Add(r.out, r.out.ProgramStack, &r.call, 0); err != nil {
			return err
		}
	}
	return nil
}

// clip shortens a text to at most limit bytes, and marks the cut.
func clip(text string, limit int) string {
	const more = " …"
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(more)], "") + more
}
