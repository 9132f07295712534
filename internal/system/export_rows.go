package system

import (
	"context"
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/analysis/msprobe/msprobedump"
	"github.com/tensortap/tensortap/schemas"
)

// prepare reads what all steps need, and lists them.
func (e *exporting) prepare(ctx context.Context) ([]exportedStep, error) {
	if err := e.describe(ctx); err != nil {
		return nil, err
	}
	for _, read := range []func(context.Context) error{e.readOps, e.readSites, e.readLayouts, e.readStacks} {
		if err := read(ctx); err != nil {
			return nil, err
		}
	}
	return e.steps(ctx)
}

// each calls row for each row of the answer, to scan it.
func (e *exporting) each(ctx context.Context, what, query string, row func(scan func(...any) error) error, more ...[2]string) error {
	parameters := map[string]string{
		"run_id": fmt.Sprint(e.run), "rank": fmt.Sprint(e.request.Rank),
		"first_step": fmt.Sprint(e.request.Steps.First()), "last_step": fmt.Sprint(e.request.Steps.Last()),
	}
	for _, parameter := range more {
		parameters[parameter[0]] = parameter[1]
	}
	rows, err := e.client.Rows(ctx, query, parameters)
	if err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return errors.Join(fmt.Errorf("read %s: %w", what, err), rows.Close())
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return fmt.Errorf("read %s: %w", what, err)
	}
	return nil
}

func (e *exporting) describe(ctx context.Context) error {
	const query = "SELECT level, task, framework, source FROM tap.runs WHERE run_id = {run_id:UInt64}"
	return e.each(ctx, "what the run is", query, func(scan func(...any) error) error {
		return scan(&e.about.Level, &e.about.Task, &e.about.Framework, &e.about.Source)
	})
}

func (e *exporting) steps(ctx context.Context) ([]exportedStep, error) {
	const query = `SELECT step, rank, epoch, program_id, dropped_count, drop_reason, complete, event_time_ns
FROM tap.steps
WHERE run_id = {run_id:UInt64} AND ({rank:Int64} = -1 OR rank = {rank:Int64})
    AND step >= {first_step:Int64} AND ({last_step:Int64} = -1 OR step <= {last_step:Int64})
ORDER BY step, rank`
	var steps []exportedStep
	err := e.each(ctx, "the steps", query, func(scan func(...any) error) error {
		var s exportedStep
		err := scan(&s.step, &s.rank, &s.epoch, &s.program, &s.dropped, &s.reason, &s.complete, &s.timeNs)
		if e.request.Steps.Contains(int64(s.step)) {
			steps = append(steps, s)
		}
		return err
	})
	return steps, err
}

// ranOf are the ids of the programs that the run ran.
const ranOf = "(SELECT program_id FROM tap_store.step WHERE run_id = {run_id:UInt64})"

func (e *exporting) readOps(ctx context.Context) error {
	const query = `SELECT op_id, name, phase FROM tap.ops
WHERE op_id IN (SELECT op_id FROM tap_store.program WHERE program_id IN ` + ranOf + `)
    OR op_id IN (SELECT parent_op_id FROM tap_store.program WHERE program_id IN ` + ranOf + `)
    OR op_id IN (SELECT op_id FROM tap_store.site WHERE site_id IN (SELECT DISTINCT site_id FROM tap_store.tensor WHERE run_id = {run_id:UInt64}))`
	e.ops = map[uint64]exportedOp{}
	return e.each(ctx, "the ops", query, func(scan func(...any) error) error {
		var o exportedOp
		err := scan(&o.id, &o.name, &o.phase)
		e.ops[o.id] = o
		return err
	})
}

func (e *exporting) readSites(ctx context.Context) error {
	const query = `SELECT site_id, op_id, role, path FROM tap.sites
WHERE site_id IN (SELECT DISTINCT site_id FROM tap_store.tensor WHERE run_id = {run_id:UInt64})`
	e.sites = map[uint64]schemas.SiteRow{}
	return e.each(ctx, "the places of tensors", query, func(scan func(...any) error) error {
		var s schemas.SiteRow
		err := scan(&s.SiteID, &s.OpID, &s.Role, &s.Path)
		e.sites[s.SiteID] = s
		return err
	})
}

func (e *exporting) readLayouts(ctx context.Context) error {
	const query = `SELECT layout_id, kind, dtype, shape, requires_grad, placement, literal FROM tap.layouts
WHERE layout_id IN (SELECT DISTINCT layout_id FROM tap_store.tensor WHERE run_id = {run_id:UInt64})`
	e.layouts = map[uint64]*schemas.LayoutRow{}
	return e.each(ctx, "the layouts", query, func(scan func(...any) error) error {
		var l schemas.LayoutRow
		err := scan(&l.LayoutID, &l.Kind, &l.Dtype, &l.Shape, &l.RequiresGrad, &l.Placement, &l.Literal)
		e.layouts[l.LayoutID] = &l
		return err
	})
}

func (e *exporting) readStacks(ctx context.Context) error {
	const query = `SELECT stack_id, frames FROM tap.stacks
WHERE stack_id IN (SELECT stack_id FROM tap.program_stacks WHERE run_id = {run_id:UInt64})`
	e.about.Frames = map[uint64][]string{}
	return e.each(ctx, "the call stacks", query, func(scan func(...any) error) error {
		var id uint64
		var frames []string
		err := scan(&id, &frames)
		e.about.Frames[id] = frames
		return err
	})
}

// mostPrograms bounds how many programs are kept: where every step has one of its own, few come again.
const mostPrograms = 64

// program is the ops of a program in their order.
func (e *exporting) program(ctx context.Context, id uint64) ([]exportedOp, error) {
	if known, ok := e.programs[id]; ok || id == 0 {
		return known, nil
	}
	if len(e.programs) >= mostPrograms {
		clear(e.programs)
	}
	const query = `SELECT p.op_id, p.parent_op_id, s.stack_id
FROM tap.programs AS p
LEFT ANY JOIN (
    SELECT position, stack_id FROM tap.program_stacks WHERE run_id = {run_id:UInt64} AND program_id = {program:UInt64}
) AS s ON s.position = p.position
WHERE p.program_id = {program:UInt64}
ORDER BY p.position`
	var ops []exportedOp
	err := e.each(ctx, "a program", query, func(scan func(...any) error) error {
		var o exportedOp
		if err := scan(&o.id, &o.parent, &o.stack); err != nil {
			return err
		}
		named, known := e.ops[o.id]
		if !known {
			e.result.Unplaced++
			return nil
		}
		if isBeyondMsprobe(named.name) {
			return nil
		}
		o.name, o.phase = named.name, named.phase
		ops = append(ops, o)
		return nil
	}, [2]string{"program", fmt.Sprint(id)})
	e.programs[id] = ops
	return ops, err
}

// values reads the tensors and other arguments of a step in the order in which they were observed.
func (e *exporting) values(ctx context.Context, s exportedStep, dump *msprobedump.Dump, placed map[uint64]int) error {
	const query = `SELECT micro_step, seq, site_id, layout_id, measured, element_count, value_min, value_max, value_mean, value_l2,
    nan_count, positive_infinity_count, negative_infinity_count, digest, digest_kind
FROM tap_store.tensor
WHERE run_id = {run_id:UInt64} AND rank = {rank_of_step:UInt32} AND step = {step:UInt32} AND epoch = {epoch:UInt64}
ORDER BY seq`
	seen := map[uint64]bool{}
	return e.each(ctx, "the tensors", query, func(scan func(...any) error) error {
		var row schemas.TensorRow
		err := scan(&row.MicroStep, &row.Seq, &row.SiteID, &row.LayoutID, &row.Measured, &row.ElementCount, &row.ValueMin, &row.ValueMax, &row.ValueMean,
			&row.ValueL2, &row.NaNCount, &row.PositiveInfinityCount, &row.NegativeInfinityCount, &row.Digest, &row.DigestKind)
		if err == nil {
			e.place(dump, placed, seen, &row)
		}
		return err
	}, [2]string{"rank_of_step", fmt.Sprint(s.rank)}, [2]string{"step", fmt.Sprint(s.step)}, [2]string{"epoch", fmt.Sprint(s.epoch)})
}
