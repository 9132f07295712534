package msprobedump

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/msprobe/internal/pyrepr"
	"github.com/tensortap/tensortap/schemas"
)

// msprobeSource is the source of runs that msProbe recorded.
const msprobeSource = "msprobe"

const peerOp = "torch.distributed.P2POp"

// leaf is the record of one value.
func (d *Dump) leaf(v *Value) *node {
	class, extra, peer := strings.Cut(v.Layout.Literal, " ")
	switch {
	case v.Layout.Kind == "none" || v.Layout.Kind == "other" && v.Layout.Literal == "" && d.Source != msprobeSource:
		return token("null") // so it is for what msProbe has no record for
	case v.Layout.Kind != "tensor":
		return d.argument(v)
	case peer && class == peerOp:
		return object().add("class_type", text(class)).add("tensor", d.tensor(v, d.tensorType(""))).splice(extra)
	}
	return d.tensor(v, d.tensorType(v.Layout.Literal)).splice(v.Layout.Placement)
}

// tensorType is the type of a tensor whose class is no plain one, or of one that is.
func (d *Dump) tensorType(class string) string {
	switch {
	case class != "":
		return class
	case d.Framework == "mindspore":
		return "mindspore.Tensor"
	}
	return "torch.Tensor"
}

func (d *Dump) tensor(v *Value, typ string) *node {
	shape := list()
	for _, n := range v.Layout.Shape {
		shape.items = append(shape.items, token(strconv.FormatInt(n, 10)))
	}
	n := object().add("type", text(typ)).add("dtype", text(v.Layout.Dtype)).add("shape", shape)
	switch s := d.statistics(v); {
	case v.Row.DigestKind == schemas.DigestXOR:
		n.add("md5", text(fmt.Sprintf("0x%016x", v.Row.Digest)))
	case d.Task != "xor":
		n.add("Max", s.member(schemas.MeasuredMax, s.most, v.Layout))
		n.add("Min", s.member(schemas.MeasuredMin, s.least, v.Layout))
		n.add("Mean", s.member(schemas.MeasuredMean, s.mean, v.Layout))
		n.add("Norm", s.member(schemas.MeasuredL2, s.norm, v.Layout))
	}
	if v.Layout.RequiresGrad != nil {
		n.add("requires_grad", token(truth(float64(*v.Layout.RequiresGrad))))
	}
	if v.Row.DigestKind == schemas.DigestCRC32 {
		n.add("md5", text(fmt.Sprintf("%08x", v.Row.Digest)))
	}
	if v.DataName != "" {
		n.add("data_name", text(v.DataName))
	}
	return n
}

// argument is the record of what is no tensor.
func (d *Dump) argument(v *Value) *node {
	literal := v.Layout.Literal
	typ := v.Layout.Dtype
	if typ == "" {
		typ = d.typeOf(v.Layout.Kind)
	}
	n := object()
	if typ == peerOp {
		return n.add("class_type", text(typ)).splice(literal)
	}
	n.add("type", text(typ))
	switch {
	case strings.HasPrefix(literal, "{") && (v.Layout.Kind == "group" || v.Layout.Kind == "other"):
		return n.splice(literal)
	case typ == "torch.memory_format":
		return n.add("format", text(literal))
	}
	return n.add("value", literalNode(v))
}

func (d *Dump) typeOf(kind string) string {
	framework := "torch"
	if d.Framework == "mindspore" {
		framework = "mindspore"
	}
	switch kind {
	case "size":
		return "torch.Size"
	case "device":
		return "torch.device"
	case "dtype":
		return framework + ".dtype"
	case "group":
		return framework + ".ProcessGroup"
	}
	return kind
}

// literalNode is a value that was kept as text: that of a number, a list or a truth as it is, others in quotes.
func literalNode(v *Value) *node {
	literal := v.Layout.Literal
	switch v.Layout.Kind {
	case "bool":
		return token(strings.ToLower(literal))
	case "int", "float":
		return token(numberToken(literal))
	case "str", "dtype", "device":
		return text(literal)
	}
	if v.Row.Measured != 0 {
		return token(numberToken(literal))
	}
	if n, ok := parse(literal); ok {
		return n
	}
	return text(literal)
}

// numberToken is a number as JSON, where it is one, and otherwise its text.
func numberToken(literal string) string {
	switch strings.ToLower(literal) {
	case "nan":
		return "NaN"
	case "inf", "infinity":
		return "Infinity"
	case "-inf", "-infinity":
		return "-Infinity"
	}
	if json.Valid([]byte(literal)) {
		return literal
	}
	return pyrepr.JSON(literal)
}

// splice adds the members of a compact object in text; what is no object stands there as text under one name.
func (n *node) splice(members string) *node {
	if members == "" {
		return n
	}
	parsed, ok := parse(members)
	if !ok || parsed.keys == nil {
		return n.add("placements", text(members))
	}
	for i, key := range parsed.keys {
		n.add(key, parsed.items[i])
	}
	return n
}
