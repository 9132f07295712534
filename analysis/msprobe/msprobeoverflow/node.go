package msprobeoverflow

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

func (j *job) write(ctx context.Context, to io.Writer, step uint32, origins []Origin) error {
	root := Object()
	for _, origin := range origins {
		node, err := j.node(ctx, step, origin)
		if err != nil {
			return err
		}
		list := List()
		list.Items = append(list.Items, node)
		root.Set(fmt.Sprintf("rank_%d", origin.Rank), list)
	}
	return Write(to, root)
}

// node is all that msProbe says of one op.
func (j *job) node(ctx context.Context, step uint32, origin Origin) (*Node, error) {
	at := rows.Place{Rank: origin.Rank, Step: step}
	tensors, err := j.source.Tensors(ctx, j.run, []rows.Place{at})
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", j.run.Name, err)
	}
	program := j.definitions.Programs[j.run.StepAt(at).ProgramID]
	node := Object()
	node.Set("op_name", Text(origin.Op))
	node.Set("data_info", j.dataInfo(origin.Op, tensors[at]))
	node.Set("construct_info", Texts(j.ancestry(origin.Op, program)))
	node.Set("stack_info", j.stack(origin.Op, program))
	return node, nil
}

// ancestry is the op with the modules around it, the outermost first.
func (j *job) ancestry(op string, program []schemas.ProgramRow) []string {
	above := map[string]string{}
	for _, call := range program {
		if parent := j.definitions.Ops[call.ParentOpID]; parent != nil {
			above[j.definitions.Op(call.OpID).Name] = parent.Name
		}
	}
	chain := []string{op}
	for at := above[op]; at != "" && !slices.Contains(chain, at); at = above[at] {
		chain = append(chain, at)
	}
	slices.Reverse(chain)
	return chain
}

// stack is where the op was called; an empty object where that is not known.
func (j *job) stack(op string, program []schemas.ProgramRow) *Node {
	for _, call := range program {
		if j.definitions.Op(call.OpID).Name != op {
			continue
		}
		if frames := j.definitions.Frames(j.run, call); len(frames) > 0 {
			return Texts(frames)
		}
	}
	return Object()
}

// dataInfo is what the dump says of the op's inputs and outputs.
func (j *job) dataInfo(op string, tensors *rows.Tensors) *Node {
	inputs, keywords, outputs := List(), Object(), List()
	roles := map[string]*Node{"input": inputs, "kwarg": keywords, "output": outputs}
	for i := range tensors.Len() {
		seen := tensors.At(i)
		site := j.definitions.Sites[seen.SiteID]
		if to := roles[site.Role]; to != nil && j.definitions.Op(site.OpID).Name == op {
			to.Put(site.Path, leaf(&seen, j.definitions.LayoutOrZero(seen.LayoutID)))
		}
	}
	info := Object()
	if strings.Contains(op, "forward") {
		info.Set("input_args", inputs)
		info.Set("input_kwargs", keywords)
	} else {
		info.Set("input", inputs)
	}
	info.Set("output", outputs)
	return info
}

// leaf is one tensor, or other argument.
func leaf(seen *rows.Observation, layout *schemas.LayoutRow) *Node {
	node := Object()
	switch layout.Kind {
	case "none":
		return &Node{Text: "null"}
	case "tensor":
		return tensor(seen, layout)
	case "int", "float", "bool", "slice", "size", "group":
		node.Set("type", Text(argumentType(layout)))
		node.Set("value", &Node{Text: layout.Literal})
	default:
		node.Set("type", Text(argumentType(layout)))
		node.Set("value", Text(layout.Literal))
	}
	return node
}

// argumentType is the type that msProbe names.
func argumentType(layout *schemas.LayoutRow) string {
	if layout.Dtype != "" {
		return layout.Dtype
	}
	names := map[string]string{"size": "torch.Size", "dtype": "torch.dtype", "device": "torch.device", "group": "torch.ProcessGroup"}
	if name := names[layout.Kind]; name != "" {
		return name
	}
	return layout.Kind
}

func tensor(seen *rows.Observation, layout *schemas.LayoutRow) *Node {
	node := Object()
	class := layout.Literal
	if class == "" {
		class = "torch.Tensor"
	}
	shape := List()
	for _, size := range layout.Shape {
		shape.Items = append(shape.Items, &Node{Text: strconv.FormatInt(size, 10)})
	}
	node.Set("type", Text(class))
	node.Set("dtype", Text(layout.Dtype))
	node.Set("shape", shape)
	node.Set("Max", statistic(seen.Max, seen.Has(schemas.MeasuredMax), layout.Dtype))
	node.Set("Min", statistic(seen.Min, seen.Has(schemas.MeasuredMin), layout.Dtype))
	node.Set("Mean", statistic(seen.Mean, seen.Has(schemas.MeasuredMean), layout.Dtype))
	node.Set("Norm", statistic(seen.L2, seen.Has(schemas.MeasuredL2), layout.Dtype))
	if grad := layout.RequiresGrad; grad != nil {
		node.Set("requires_grad", &Node{Text: strconv.FormatBool(*grad != 0)})
	}
	return node
}

func statistic(v float64, known bool, dtype string) *Node {
	switch {
	case !known:
		return &Node{Text: "null"}
	case dtype == "torch.bool":
		return &Node{Text: strconv.FormatBool(v != 0)}
	}
	return Number(v, strings.Contains(dtype, "int"))
}
