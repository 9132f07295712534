package families_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/dev/crossed"
	"github.com/tensortap/tensortap/schemas"
)

// cross gives runs of testdata/cross, where each line is a tensor of a step: of a small Llama by Transformers (hf), by vLLM
// with the same weights (vl), and by vLLM with rows of one weight scaled (vlbad); of a small Qwen 3 by Transformers (qwen3-hf) and,
// on two ranks, by SGLang and vLLM (qwen3-sglang, qwen3-vllm), whose lines have the rank, and sketches of what SGLang leaves to be
// added up.
type cross struct{ *crossed.Runs }

func newCross(tb testing.TB, names ...string) *cross {
	tb.Helper()
	runs, err := crossed.Read("testdata/cross", names...)
	if err != nil {
		tb.Fatal(err)
	}
	return &cross{runs}
}

// scale multiplies an output of all steps of a run.
func (c *cross) scale(run, op, path string, by float64) {
	id := schemas.SiteID(schemas.OpID(op), "output", path)
	for _, t := range c.Stored[run] {
		for i, site := range t.SiteID {
			if site == id {
				t.Min[i], t.Max[i], t.Mean[i], t.L2[i] = by*t.Min[i], by*t.Max[i], by*t.Mean[i], by*t.L2[i]
				if t.Sketch != nil {
					for bucket := range t.Sketch[i] {
						t.Sketch[i][bucket] *= float32(by)
					}
				}
			}
		}
	}
}

// again adds a run that has the tensors of hf, each as edited by its op and its place in that, as `output.0`.
func (c *cross) again(as string, edit func(op, place string, o *rows.Observation)) {
	const run = "hf"
	of := *c.ByName[run]
	of.Name, of.ID = as, schemas.RunID(as)
	c.ByName[as], c.Stored[as] = &of, map[rows.Place]*rows.Tensors{}
	for at, tensors := range c.Stored[run] {
		copied := &rows.Tensors{}
		for i := range tensors.Len() {
			o := tensors.At(i)
			site := c.Known.Sites[o.SiteID]
			edit(c.Known.Ops[site.OpID].Name, site.Role+"."+site.Path, &o)
			copied.Append(crossed.Row(&o))
		}
		c.Stored[as][at] = copied
	}
}

// multiply has a tensor be that times as great.
func multiply(o *rows.Observation, by float64) {
	o.Min, o.Max, o.Mean, o.M2, o.L2 = by*o.Min, by*o.Max, by*o.Mean, by*by*o.M2, by*o.L2
}

// forgetSketches leaves statistics alone.
func (c *cross) forgetSketches() {
	for _, places := range c.Stored {
		for _, t := range places {
			t.Sketch = nil
		}
	}
}

// split adds a run that has another one's tensors on two ranks, whose group the last halves of layers are split over; the
// second rank's half of a site is scaled.
func (c *cross) split(run, as, scaled string, by float64) {
	of := c.ByName[run]
	two := *of
	two.Name, two.ID, two.Steps, two.Ranks = as, schemas.RunID(as), nil, nil
	two.Missing = []rows.Completeness{{Complete: true}, {Rank: 1, Complete: true}}
	c.Stored[as] = map[rows.Place]*rows.Tensors{}
	for rank := range uint32(2) {
		two.Ranks = append(two.Ranks, schemas.RankRow{Rank: rank, TP: int16(rank), TPSize: 2, PPSize: 1, DPSize: 1, CPSize: 1, EPSize: 1}) //nolint:gosec // few ranks
		for _, step := range of.Steps {
			step.Rank = rank
			two.Steps = append(two.Steps, step)
			at := rows.Place{Rank: rank, Step: step.Step}
			c.Stored[as][at] = c.half(c.Stored[run][rows.Place{Step: step.Step}], rank, scaled, by)
		}
	}
	c.ByName[as] = &two
}

// half is what one of two ranks holds of tensors.
func (c *cross) half(of *rows.Tensors, rank uint32, scaled string, by float64) *rows.Tensors {
	half := &rows.Tensors{}
	for i := range of.Len() {
		o := of.At(i)
		site := c.Known.Sites[o.SiteID]
		name := c.Known.Ops[site.OpID].ModulePath + " " + site.Role + "." + site.Path
		if isSplit(name) && o.ElementCount > 0 {
			dimension := len(c.Known.Layouts[o.LayoutID].Shape) - 1
			if strings.HasSuffix(name, " parameter.weight") {
				dimension = 0
			}
			c.halve(&o, dimension)
			if rank == 1 && name == scaled {
				multiply(&o, by)
			}
		}
		half.Append(crossed.Row(&o))
	}
	return half
}

// isSplit says whether tensor-parallel ranks hold parts of a value, in a Llama by vLLM.
func isSplit(name string) bool {
	for _, end := range []string{"embed_tokens parameter.weight", "qkv_proj output.0", "o_proj input.0", "gate_up_proj output.0", "act_fn input.0", "act_fn output.0", "down_proj input.0"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// halve leaves half of the elements, with the same mean: of one dimension.
func (c *cross) halve(o *rows.Observation, dimension int) {
	layout := *c.Known.Layouts[o.LayoutID]
	layout.Shape = slices.Clone(layout.Shape)
	layout.Shape[dimension] /= 2
	layout.LayoutID = schemas.LayoutID(&layout)
	c.Known.Layouts[layout.LayoutID] = &layout
	o.LayoutID, o.ElementCount, o.M2, o.L2 = layout.LayoutID, o.ElementCount/2, o.M2/2, o.L2/math.Sqrt2
}
