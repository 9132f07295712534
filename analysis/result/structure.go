package result

import (
	"slices"
	"strings"
)

// structure names the parts of the layouts that differ; empty where they are no difference.
func (d *Difference) structure() string {
	p, b := d.ProblemLayout, d.BenchLayout
	switch {
	case !d.Structure:
		return ""
	case p.Kind == "" || b.Kind == "":
		return "unknown layout"
	case p.Kind != b.Kind:
		return "kind"
	}
	var parts []string
	for _, part := range []struct {
		name    string
		differs bool
	}{
		{"dtype", p.Dtype != b.Dtype},
		{"shape", !slices.Equal(p.Shape, b.Shape)},
		{"literal", p.Literal != b.Literal},
		{"requires_grad", p.RequiresGrad != nil && b.RequiresGrad != nil && *p.RequiresGrad != *b.RequiresGrad},
	} {
		if part.differs {
			parts = append(parts, part.name)
		}
	}
	return strings.Join(parts, " ")
}
