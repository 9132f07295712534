package agent

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/tensortap/tensortap/schemas"
)

// mostOrdinals bounds the memory that a damaged ordinal can cost.
const mostOrdinals = 1 << 24

// Kinds of layouts that are numbers.
const (
	kindInt   = "int"
	kindFloat = "float"
)

// catalogue knows the meaning of the process's ordinals. Slices are indexed by them; 0 is none.
type catalogue struct {
	ops     []uint64
	sites   []uint64
	layouts []layoutFacts
	stacks  []uint64
	texts   []string
	groups  []groupFacts

	signatures []uint64
	calls      []callFacts
}

// layoutFacts are the facts of a layout for rows of tensor.
type layoutFacts struct {
	id       uint64
	elements uint64
	number   float64 // of a literal
	isNumber bool
	numbers  *schemas.LayoutRow // that of numbers of a kind, without one's value; nil for all others
}

// at is the entry of an ordinal, zero when it was never defined.
func at[T any](list []T, ordinal uint32) (T, bool) {
	if int64(ordinal) >= int64(len(list)) {
		var none T
		return none, ordinal == 0
	}
	return list[ordinal], true
}

func set[T any](list []T, ordinal uint32, value T) ([]T, error) {
	if ordinal == 0 || ordinal > mostOrdinals {
		return list, fmt.Errorf("ordinal %d, want 1 to %d", ordinal, mostOrdinals)
	}
	if need := int(ordinal) + 1; need > len(list) {
		list = slices.Grow(list, need-len(list))[:need]
	}
	list[ordinal] = value
	return list, nil
}

// define takes a definition in, and hands its row to out.
func (c *catalogue) define(d *definition, out *batches) error {
	switch d.Kind {
	case "op":
		return c.defineOp(d, out)
	case "site":
		return c.defineSite(d, out)
	case "layout":
		return c.defineLayout(d, out)
	case "stack":
		return c.defineStack(d, out)
	case "group":
		var err error
		c.groups, err = set(c.groups, d.ID, groupFacts{schemas.ProcessGroupName(d.Description, d.Ranks, d.Before), d.Ranks})
		return err
	case "signature":
		return c.defineSignature(d, out)
	case "call":
		return c.defineCall(d)
	case "text":
		var err error
		c.texts, err = set(c.texts, d.ID, d.Text)
		return err
	}
	return nil // of a later release
}

func (c *catalogue) defineOp(d *definition, out *batches) error {
	row := schemas.ParseOpName(d.Name)
	var err error
	if c.ops, err = set(c.ops, d.ID, row.OpID); err != nil {
		return err
	}
	return add(out, out.op, &row, 2*len(row.Name))
}

func (c *catalogue) defineSite(d *definition, out *batches) error {
	op, known := at(c.ops, d.Op)
	if !known || d.Op == 0 {
		return fmt.Errorf("site %d of op %d, which is not defined", d.ID, d.Op)
	}
	row := schemas.SiteRow{SiteID: schemas.SiteID(op, d.Role, d.Path), OpID: op, Role: d.Role, Path: d.Path}
	var err error
	if c.sites, err = set(c.sites, d.ID, row.SiteID); err != nil {
		return err
	}
	return add(out, out.site, &row, len(row.Path))
}

func (c *catalogue) defineLayout(d *definition, out *batches) error {
	row := d.layout()
	facts := d.facts(row.LayoutID)
	if d.isOfNumbers() {
		facts = layoutFacts{numbers: &row}
	}
	var err error
	if c.layouts, err = set(c.layouts, d.ID, facts); err != nil || facts.numbers != nil {
		return err
	}
	return add(out, out.layout, &row, len(row.Literal)+len(row.Placement))
}

func (c *catalogue) defineStack(d *definition, out *batches) error {
	row := schemas.StackRow{StackID: schemas.StackID(d.Frames), Frames: d.Frames}
	var err error
	if c.stacks, err = set(c.stacks, d.ID, row.StackID); err != nil {
		return err
	}
	return add(out, out.stack, &row, textOf(d.Frames))
}

func textOf(frames []string) int {
	n := 0
	for _, frame := range frames {
		n += len(frame)
	}
	return n
}

func (d *definition) layout() schemas.LayoutRow {
	row := schemas.LayoutRow{
		Kind: d.LayoutKind, Dtype: d.Dtype, Shape: d.Shape, StrideClass: d.StrideClass, DeviceKind: d.DeviceKind,
		Placement: d.Placement, Literal: d.Literal,
	}
	if d.RequiresGrad != nil {
		requires := uint8(0)
		if *d.RequiresGrad {
			requires = 1
		}
		row.RequiresGrad = &requires
	}
	row.LayoutID = schemas.LayoutID(&row)
	return row
}

// isOfNumbers says whether each row of the layout has the value itself.
func (d *definition) isOfNumbers() bool {
	return (d.LayoutKind == kindInt || d.LayoutKind == kindFloat) && d.Literal == ""
}

func (d *definition) facts(id uint64) layoutFacts {
	facts := layoutFacts{id: id}
	switch d.LayoutKind {
	case "tensor":
		facts.elements = d.Count
	case kindInt, kindFloat:
		facts = numberIn(d.Literal)
		facts.id = id
	}
	return facts
}

// numberIn are the facts of a literal that is a number.
func numberIn(literal string) layoutFacts {
	number, err := strconv.ParseFloat(literal, 64)
	return layoutFacts{number: number, isNumber: err == nil || math.IsInf(number, 0)} // one beyond float64 is an infinity
}
