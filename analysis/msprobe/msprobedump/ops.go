package msprobedump

import (
	"github.com/tensortap/tensortap/analysis/msprobe/internal/pyrepr"
	"github.com/tensortap/tensortap/schemas"
)

// Roles of values, as in site.role.
const (
	inputRole     = "input"
	kwargRole     = "kwarg"
	outputRole    = "output"
	parameterRole = "parameter"
)

// verdictPath is where msProbe's own verdict on an op's outputs is kept, as if it were one of them.
const verdictPath = "is_nan"

// writeOps writes dump.json.
func (d *Dump) writeOps(p *printer) {
	framework := d.Framework
	if framework == "" {
		framework = "pytorch"
	}
	dataDir := "null"
	if d.dataDir != "" {
		dataDir = pyrepr.JSON(d.dataDir)
	}
	head := []string{"task", pyrepr.JSON(d.task()), "level", pyrepr.JSON(d.Level), "framework", pyrepr.JSON(framework), "dump_data_dir", dataDir}
	p.letter('{')
	for i := 0; i < len(head); i += 2 {
		p.line(1)
		p.key(head[i])
		p.word(head[i+1])
		p.letter(',')
	}
	p.line(1)
	p.key("data")
	ops := d.Ops
	if d.Task == "structure" {
		ops = nil
	}
	p.brackets('{', '}', len(ops), 1, func(i int) {
		p.key(ops[i].Name)
		p.print(d.op(&ops[i]), 2)
	})
	p.line(0)
	p.letter('}')
}

// task is how msProbe calls it. Digests are a mode of its statistics, and so are raw tensors that are not written.
func (d *Dump) task() string {
	if d.dataDir != "" {
		return "tensor"
	}
	switch d.Task {
	case "", "md5", "xor", "tensor":
		return "statistics"
	}
	return d.Task
}

// op is the entry of an op.
func (d *Dump) op(o *Op) *node {
	parts := map[string][]placed{}
	n := object()
	var verdict *node
	for i := range o.Values {
		v := &o.Values[i]
		if v.Role == outputRole && v.Path == verdictPath {
			verdict = token(v.Layout.Literal)
			continue
		}
		parts[v.Role] = append(parts[v.Role], placed{v.Path, d.leaf(v)})
	}
	switch o.Phase {
	case schemas.PhaseGradient:
		return gradients(parts)
	case schemas.PhaseBackward:
		n.add("input", tree(parts[inputRole], list()))
		if len(parts[kwargRole]) > 0 {
			n.add("input_kwargs", tree(parts[kwargRole], object()))
		}
		n.add("output", tree(parts[outputRole], list()))
	default:
		n.add("input_args", tree(parts[inputRole], list()))
		n.add("input_kwargs", tree(parts[kwargRole], object()))
		n.add("output", tree(parts[outputRole], list()))
	}
	return d.finish(n, o, parts[parameterRole], verdict)
}

// finish adds what only some ops have.
func (*Dump) finish(n *node, o *Op, parameters []placed, verdict *node) *node {
	ofModule := schemas.ParseOpName(o.Name).Level == schemas.LevelModule && o.Phase != schemas.PhaseBackward
	if ofModule || len(parameters) > 0 {
		n.add("parameters", flat(parameters, func(record *node) *node { return record }))
	}
	if o.Phase == schemas.PhaseRecompute {
		n.add("is_recompute", token("true"))
	}
	if verdict != nil {
		n.add(verdictPath, verdict)
	}
	return n
}

// gradients is the entry of an op of gradients: a list of one for each parameter.
func gradients(parts map[string][]placed) *node {
	return flat(parts["parameter_gradient"], func(record *node) *node { return list(record) })
}

// flat is an object of records by their whole paths: dots in the names of parameters do not nest.
func flat(values []placed, wrap func(*node) *node) *node {
	n := object()
	for _, v := range values {
		n.add(v.path, wrap(v.record))
	}
	return n
}
