package system

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tensortap/tensortap/analysis/msprobe/msprobedump"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/schemas"
)

// ExportRequest says what of a stored run to write as a dump of msProbe. Begin with DefaultExportRequest.
type ExportRequest struct {
	Run   string
	Dir   string // a folder that is empty, or not there yet
	Rank  int64  // -1 for all
	Steps steps.Set
	// Payloads is the folder of the run's raw tensors, or of the dumps that it was published from; empty: none are written.
	Payloads string
}

// DefaultExportRequest writes everything.
func DefaultExportRequest() ExportRequest { return ExportRequest{Rank: -1} }

// ExportResult says what was written.
type ExportResult struct {
	Dumps  int // steps of ranks
	Ops    int
	Values int
	// Unplaced counts what is stored and could not be written: its definition is missing, or it stands twice at one place.
	Unplaced   int
	Raw        int      // raw tensors that were written
	Unreadable int      // raw tensors that were kept and could not be read
	Problems   []string // what was wrong with the first of these
}

// ExportMsprobe writes a stored run as msProbe writes its dumps: a folder for each step, and in it one for each rank.
// Steps that have not ended are left out.
func (c *Client) ExportMsprobe(ctx context.Context, r ExportRequest, progress func(done, all int64)) (ExportResult, error) {
	if err := c.CheckRun(ctx, r.Run); err != nil {
		return ExportResult{}, err
	}
	if err := c.CheckRank(ctx, r.Run, r.Rank); err != nil {
		return ExportResult{}, err
	}
	if err := requireEmpty(r.Dir); err != nil {
		return ExportResult{}, err
	}
	e := &exporting{client: c, request: r, run: schemas.RunID(r.Run), programs: map[uint64][]exportedOp{}}
	if err := e.findRaw(); err != nil {
		return ExportResult{}, fmt.Errorf("export run %q: %w", r.Run, err)
	}
	steps, err := e.prepare(ctx)
	if err != nil {
		return ExportResult{}, fmt.Errorf("export run %q: %w", r.Run, err)
	}
	if len(steps) == 0 {
		return ExportResult{}, fmt.Errorf("export run %q: none of its steps that were asked for has ended", r.Run)
	}
	for i, s := range steps {
		progress(int64(i), int64(len(steps)))
		if err := e.export(ctx, s); err != nil {
			return e.result, fmt.Errorf("export step %d of rank %d of run %q: %w", s.step, s.rank, r.Run, err)
		}
	}
	progress(int64(len(steps)), int64(len(steps)))
	return e.result, nil
}

// requireEmpty refuses a folder that holds something: an older dump in it would mix with the new one.
func requireEmpty(dir string) error {
	folder, err := os.Open(dir) //nolint:gosec // the folder that the user named
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the folder for the dump: %w", err)
	}
	defer folder.Close() //nolint:errcheck // only read
	if _, err = folder.Readdirnames(1); errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the folder for the dump: %w", err)
	}
	return fmt.Errorf("folder %s is not empty, and two dumps in one folder mix: name another", dir)
}

// exporting is one export under way.
type exporting struct {
	client  *Client
	request ExportRequest
	run     uint64
	result  ExportResult
	kept    keptFolder // raw tensors

	about    msprobedump.Dump // what all dumps have in common
	sites    map[uint64]schemas.SiteRow
	layouts  map[uint64]*schemas.LayoutRow
	ops      map[uint64]exportedOp // of sites and programs, by id
	programs map[uint64][]exportedOp
}

// exportedStep is a step of a rank that has ended.
type exportedStep struct {
	step, rank     uint32
	epoch, program uint64
	dropped        uint64
	reason         string
	complete       uint8
	timeNs         int64
}

// exportedOp is an op, and where it stands in a program.
type exportedOp struct {
	id, parent, stack uint64
	name, phase       string
}

// export writes the dump of one step of one rank.
func (e *exporting) export(ctx context.Context, s exportedStep) error {
	program, err := e.program(ctx, s.program)
	if err != nil {
		return err
	}
	dump := e.about
	dump.LostTimeNs = s.timeNs
	if dump.Lost, dump.LostReason = s.dropped, s.reason; s.dropped == 0 && s.complete == 0 {
		dump.Lost, dump.LostReason = 1, "the step was cut short"
	}
	placed := make(map[uint64]int, len(program))
	for _, o := range program {
		placed[o.id] = len(dump.Ops)
		dump.Ops = append(dump.Ops, msprobedump.Op{Name: o.name, Phase: o.phase, Parent: e.ops[o.parent].name, Stack: o.stack})
	}
	if err := e.values(ctx, s, &dump, placed); err != nil {
		return err
	}
	raw, err := e.readRaw(ctx, s)
	if err != nil {
		return err
	}
	if len(raw) > 0 {
		dump.Raw = (&rawWriter{exporting: e, at: rows.Place{Rank: s.rank, Step: s.step}, dump: &dump, locations: raw}).write
	}
	e.result.Dumps++
	e.result.Ops += len(dump.Ops)
	return dump.Write(msprobedump.Folder(e.request.Dir, s.step, s.rank))
}

// isBeyondMsprobe says whether msProbe has nothing like an op. Its compare pairs ops by name and place, so exports
// leave such ops out.
func isBeyondMsprobe(op string) bool { return schemas.NamesALoss(op) || schemas.NamesSettings(op) }

// place puts a value to its op. An op that no program names follows those that one does.
func (e *exporting) place(dump *msprobedump.Dump, placed map[uint64]int, seen map[uint64]bool, row *schemas.TensorRow) {
	site, known := e.sites[row.SiteID]
	layout, described := e.layouts[row.LayoutID]
	o, named := e.ops[site.OpID]
	if !known || !described || !named || seen[row.SiteID] {
		e.result.Unplaced++
		return
	}
	if isBeyondMsprobe(o.name) {
		return
	}
	seen[row.SiteID] = true
	i, found := placed[o.id]
	if !found {
		i = len(dump.Ops)
		placed[o.id] = i
		dump.Ops = append(dump.Ops, msprobedump.Op{Name: o.name, Phase: o.phase})
	}
	dump.Ops[i].MicroStep = row.MicroStep
	dump.Ops[i].Values = append(dump.Ops[i].Values, msprobedump.Value{Role: site.Role, Path: site.Path, Layout: layout, Row: *row})
	e.result.Values++
}
