package main

import (
	"fmt"

	"github.com/tensortap/tensortap/schemas"
)

// model is what the tensors of a generated run are of: modules in 32 layers, of four tensors each.
type model struct {
	ops     []schemas.OpRow
	sites   []schemas.SiteRow
	layouts []schemas.LayoutRow
	program []schemas.ProgramRow
}

const (
	modelLayers   = 32
	modelLayouts  = 64
	tensorsOfAnOp = 4
)

// newModel is the same for the same number of tensors, a multiple of four.
func newModel(tensors int) *model {
	m := &model{}
	for i := range modelLayouts {
		layout := schemas.LayoutRow{Kind: "tensor", Dtype: []string{"torch.float32", "torch.bfloat16"}[i%2], Shape: []int64{int64(i) + 1, 128}}
		layout.LayoutID = schemas.LayoutID(&layout)
		m.layouts = append(m.layouts, layout)
	}
	for i := range tensors / tensorsOfAnOp {
		m.module(i)
	}
	var hasher schemas.ProgramHasher
	for i := range m.ops {
		hasher.Add(m.ops[i].OpID, 0)
	}
	for i := range m.ops {
		m.program = append(m.program, schemas.ProgramRow{ProgramID: hasher.ID(), Position: uint32(i), OpID: m.ops[i].OpID}) //nolint:gosec // a small number
	}
	return m
}

func (m *model) module(i int) {
	path := fmt.Sprintf("layers.%d.part%d", i%modelLayers, i/modelLayers)
	op := schemas.ParseOpName("Module." + path + ".Linear.forward.0")
	m.ops = append(m.ops, op)
	for _, of := range [tensorsOfAnOp][2]string{{"input", "0"}, {"parameter", "weight"}, {"parameter", "bias"}, {"output", "0"}} {
		m.sites = append(m.sites, schemas.SiteRow{SiteID: schemas.SiteID(op.OpID, of[0], of[1]), OpID: op.OpID, Role: of[0], Path: of[1]})
	}
}

// ended is the end of a step of a run of the model.
func (m *model) ended(id schemas.Identity, step uint32, timeNs int64) *schemas.StepRow {
	return &schemas.StepRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, Batch: id.Batch, EventTimeNs: timeNs, Step: step,
		ProgramID: m.program[0].ProgramID, OpCount: uint64(len(m.ops)), TensorCount: uint64(len(m.sites)), Complete: 1,
	}
}
