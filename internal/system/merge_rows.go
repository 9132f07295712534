package system

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// mergedRows is how many tensors one message holds, with sketches about 2 MB.
const mergedRows = 8192

// mergePublisher sends what is derived; its layouts, first of all, since tensors name them.
type mergePublisher struct {
	to      *pipelines.Publisher
	runID   uint64
	known   map[uint64]bool // layouts that were sent
	step    *schemas.StepRow
	tensors *schemas.Builder[schemas.TensorRow, *schemas.TensorRow]
	batch   uint64
}

// mergedTensorsQuery asks for whole tensors with the layouts of their first parts.
const mergedTensorsQuery = `SELECT
    t.rank, t.step, t.micro_step, t.seq, t.site_id, t.layout_id, t.measured, t.element_count,
    t.value_min, t.value_max, t.value_mean, t.value_m2, t.value_l2, t.value_l1,
    t.nan_count, t.positive_infinity_count, t.negative_infinity_count, t.zero_count, t.subnormal_count,
    t.digest, t.digest_kind, t.sketch, t.whole_shape,
    layout.kind, layout.dtype, layout.shape, layout.stride_class, layout.device_kind, layout.requires_grad, layout.placement, layout.literal
FROM tap.merged_tensors(problem = {problem:String}, bench = {bench:String}, side = {side:String}, problem_whole_world = {problem_whole_world:UInt8},
    bench_whole_world = {bench_whole_world:UInt8}, first_step = {first_step:Int64}, last_step = {last_step:Int64}, step_offset = {step_offset:Int64}) AS t
LEFT ANY JOIN tap.layouts AS layout ON layout.layout_id = t.layout_id
ORDER BY t.rank, t.step, t.seq, t.site_id`

// mergedTensor is a row of that query.
type mergedTensor struct {
	schemas.TensorRow
	wholeShape []int64
	layout     schemas.LayoutRow
}

func (t *mergedTensor) scan(rows driver.Rows) error {
	l := &t.layout
	return rows.Scan(&t.Rank, &t.Step, &t.MicroStep, &t.Seq, &t.SiteID, &t.LayoutID, &t.Measured, &t.ElementCount,
		&t.ValueMin, &t.ValueMax, &t.ValueMean, &t.ValueM2, &t.ValueL2, &t.ValueL1,
		&t.NaNCount, &t.PositiveInfinityCount, &t.NegativeInfinityCount, &t.ZeroCount, &t.SubnormalCount,
		&t.Digest, &t.DigestKind, &t.Sketch, &t.wholeShape,
		&l.Kind, &l.Dtype, &l.Shape, &l.StrideClass, &l.DeviceKind, &l.RequiresGrad, &l.Placement, &l.Literal)
}

// distributed says whether it is the class of tensors that know of the other ranks; the whole is a tensor like others.
func distributed(class string) bool {
	return class == "torch.distributed.tensor.DTensor" || class == "AsyncCollectiveTensor"
}

// whole is the layout of the whole tensor, and whether it is another than that of the parts.
func (t *mergedTensor) whole() (*schemas.LayoutRow, bool) {
	l := t.layout
	if len(t.wholeShape) > 0 {
		l.Shape = t.wholeShape
	}
	l.Placement = ""
	if distributed(l.Literal) {
		l.Literal = ""
	}
	l.LayoutID = schemas.LayoutID(&l)
	return &l, l.LayoutID != t.LayoutID && l.Kind == "tensor"
}

// publish sends what the run is, its layouts, and its steps, each behind its tensors.
func (m *merging) publish(ctx context.Context) error {
	to, err := (&publishing{client: m.client}).newPublisher()
	if err != nil {
		return err
	}
	if err := m.describe(ctx, to); err != nil {
		return err
	}
	p := &mergePublisher{to: to, runID: schemas.RunID(m.made), known: map[uint64]bool{}, tensors: schemas.NewBuilder[schemas.TensorRow]()}
	first, last := m.stepRange()
	err = m.query(ctx, mergedTensorsQuery, map[string]string{"first_step": first, "last_step": last}, func(rows driver.Rows) error {
		var t mergedTensor
		if err := t.scan(rows); err != nil {
			return err
		}
		step := m.steps[place{t.Rank, t.Step}]
		if step == nil {
			return nil
		}
		return p.tensor(ctx, step, &t)
	})
	if err != nil {
		return err
	}
	if err := p.endStep(ctx); err != nil {
		return err
	}
	if err := m.publishEmpty(ctx, p); err != nil {
		return err
	}
	return to.Flush(ctx)
}

// publishEmpty sends the steps that have no tensors: else each comparison would look for them anew.
func (m *merging) publishEmpty(ctx context.Context, p *mergePublisher) error {
	for _, step := range m.steps {
		if step.TensorCount > 0 {
			continue
		}
		p.step = step
		if err := p.endStep(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stepRange is the steps of the problem that are read.
func (m *merging) stepRange() (first, last string) {
	var steps []int64
	for at := range m.steps {
		steps = append(steps, int64(at.step)-m.stepOffset*int64(m.side))
	}
	return strconv.FormatInt(max(slices.Min(steps), 0), 10), strconv.FormatInt(max(slices.Max(steps), 0), 10)
}

// tensor adds a tensor to its step's.
func (p *mergePublisher) tensor(ctx context.Context, step *schemas.StepRow, t *mergedTensor) error {
	if p.step != step {
		if err := p.endStep(ctx); err != nil {
			return err
		}
		p.step, p.batch = step, 0
	}
	if whole, other := t.whole(); other {
		if err := p.layout(ctx, whole); err != nil {
			return err
		}
		t.LayoutID = whole.LayoutID
	}
	t.RunID, t.Epoch, t.Batch, t.EventTimeNs = p.runID, step.Epoch, p.batch, step.EventTimeNs
	p.tensors.Append(&t.TensorRow)
	step.TensorCount++
	if p.tensors.Len() < mergedRows {
		return nil
	}
	return p.send(ctx)
}

func (p *mergePublisher) layout(ctx context.Context, l *schemas.LayoutRow) error {
	if p.known[l.LayoutID] {
		return nil
	}
	p.known[l.LayoutID] = true
	rows := schemas.NewBuilder[schemas.LayoutRow]()
	rows.Append(l)
	return publishBatch(ctx, p.to, rows, schemas.Identity{RunID: p.runID, Epoch: l.LayoutID})
}

func (p *mergePublisher) send(ctx context.Context) error {
	if p.tensors.Len() == 0 {
		return nil
	}
	err := publishBatch(ctx, p.to, p.tensors, schemas.Identity{RunID: p.runID, Rank: p.step.Rank, Epoch: p.step.Epoch, Batch: p.batch})
	p.batch++
	return err
}

func (p *mergePublisher) endStep(ctx context.Context) error {
	if p.step == nil {
		return nil
	}
	if err := p.send(ctx); err != nil {
		return err
	}
	rows := schemas.NewBuilder[schemas.StepRow]()
	rows.Append(p.step)
	return publishBatch(ctx, p.to, rows, schemas.Identity{RunID: p.runID, Rank: p.step.Rank, Epoch: p.step.Epoch})
}

// sourceLabel names the run that a merged one was derived from.
const sourceLabel = "merged_from"

const mergedRunQuery = `SELECT model, framework, framework_version, engine, engine_version, dtype, seed, source, level, task, labels, first_event_time_ns
FROM tap_store.run
WHERE run_id = xxh3(concat({run:String}, char(31)))
ORDER BY first_event_time_ns DESC, epoch DESC
LIMIT 1`

const mergedRanksQuery = `SELECT rank, tp_size, pp, dp, cp, ep, pp_size, dp_size, cp_size, ep_size
FROM tap.ranks
WHERE run_id = xxh3(concat({run:String}, char(31))) AND rank IN (
    SELECT leader
    FROM tap.shard_groups(run = {run:String}, whole_world = {whole_world:UInt8})
)
ORDER BY rank`

const mergedStacksQuery = `SELECT program_id, position, stack_id
FROM tap.program_stacks
WHERE run_id = xxh3(concat({run:String}, char(31)))
ORDER BY program_id, position`

// describe sends what is known of the run: what its source is, its merged ranks, and where its ops are called.
func (m *merging) describe(ctx context.Context, to *pipelines.Publisher) error {
	id := schemas.Identity{RunID: schemas.RunID(m.made), Epoch: m.content()}
	runs := schemas.NewBuilder[schemas.RunRow]()
	err := m.query(ctx, mergedRunQuery, nil, func(rows driver.Rows) error {
		r := schemas.RunRow{RunID: id.RunID, Epoch: id.Epoch, Name: m.made, EventTimeSource: "file"}
		err := rows.Scan(&r.Model, &r.Framework, &r.FrameworkVersion, &r.Engine, &r.EngineVersion, &r.Dtype, &r.Seed, &r.Source, &r.Level, &r.Task, &r.Labels, &r.FirstEventTimeNs)
		if r.Labels == nil {
			r.Labels = map[string]string{}
		}
		r.Labels[sourceLabel] = m.sides[m.side].name
		runs.Append(&r)
		return err
	})
	if err != nil {
		return err
	}
	if err := publishBatch(ctx, to, runs, id); err != nil {
		return err
	}
	if err := m.describeRanks(ctx, to, id); err != nil {
		return err
	}
	return m.describeStacks(ctx, to, id)
}

// content tells what is sent now from what was sent before: of messages of one identity the stream keeps the first.
func (m *merging) content() uint64 {
	sum := uint64(0)
	for _, s := range m.steps {
		sum += s.Epoch
	}
	return sum
}

func (m *merging) describeRanks(ctx context.Context, to *pipelines.Publisher, id schemas.Identity) error {
	ranks := schemas.NewBuilder[schemas.RankRow]()
	err := m.query(ctx, mergedRanksQuery, nil, func(rows driver.Rows) error {
		r := schemas.RankRow{RunID: id.RunID, Epoch: id.Epoch, TP: -1}
		err := rows.Scan(&r.Rank, &r.TPSize, &r.PP, &r.DP, &r.CP, &r.EP, &r.PPSize, &r.DPSize, &r.CPSize, &r.EPSize)
		if r.TPSize > 0 {
			r.TP, r.TPSize = 0, 1
		}
		r.SourceName = fmt.Sprintf("group of rank %d", r.Rank)
		ranks.Append(&r)
		return err
	})
	if err != nil || ranks.Len() == 0 {
		return err
	}
	return publishBatch(ctx, to, ranks, id)
}

func (m *merging) describeStacks(ctx context.Context, to *pipelines.Publisher, id schemas.Identity) error {
	stacks := schemas.NewBuilder[schemas.ProgramStackRow]()
	err := m.query(ctx, mergedStacksQuery, nil, func(rows driver.Rows) error {
		r := schemas.ProgramStackRow{RunID: id.RunID}
		if err := rows.Scan(&r.ProgramID, &r.Position, &r.StackID); err != nil {
			return err
		}
		stacks.Append(&r)
		if stacks.Len() < mergedRows {
			return nil
		}
		err := publishBatch(ctx, to, stacks, id)
		id.Batch++
		return err
	})
	if err != nil || stacks.Len() == 0 {
		return err
	}
	return publishBatch(ctx, to, stacks, id)
}
