package families

import (
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Choose is the map that ships for two runs: of the family that both are of, between their implementations. It is nil where
// both are one implementation, or where either is not known.
func Choose(problem, bench *rows.Run, definitions *rows.Definitions) (*mapping.Map, error) {
	p, b := lookAt(problem, definitions), lookAt(bench, definitions)
	if p.by == "" || b.by == "" || p.by == b.by {
		return nil, nil //nolint:nilnil // no map is an answer
	}
	all, err := All()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if p.isOf(&all[i]) && b.isOf(&all[i]) {
			return all[i].Between(p.by, b.by)
		}
	}
	return nil, nil //nolint:nilnil // no map is an answer
}

// sight is what the modules of a run say of it.
type sight struct {
	by      Implementation // empty where that is not known
	classes map[string]bool
}

// Classes that one implementation alone has, where models are not written in its own way otherwise.
const (
	classOfSGLang   = "RadixAttention"
	classOfEngines  = "RowParallelLinear"
	layerOfMegatron = "TransformerLayer"
	endOfLayers     = "DecoderLayer"
	endOfBlocks     = "Block"
)

// mostPrograms is the number of programs of a run that are looked at: each has the layers.
const mostPrograms = 16

func lookAt(run *rows.Run, definitions *rows.Definitions) sight {
	s := sight{classes: map[string]bool{}}
	seen := map[uint64]bool{}
	for i := range run.Steps {
		id := run.Steps[i].ProgramID
		if seen[id] || len(seen) == mostPrograms {
			continue
		}
		seen[id] = true
		for _, call := range definitions.Programs[id] {
			if op := definitions.Ops[call.OpID]; op != nil && op.Level == schemas.LevelModule {
				s.classes[op.ClassOrAPI] = true
			}
		}
	}
	s.by = s.implementation(run.Described.Engine)
	return s
}

// implementation tells whose modules these are. What an engine runs need not be written by it.
func (s *sight) implementation(engine string) Implementation {
	switch {
	case s.classes[classOfSGLang]:
		return SGLang
	case s.classes[classOfEngines] && s.classes[layerOfMegatron]:
		return Megatron
	case s.classes[classOfEngines] && Implementation(engine) != SGLang:
		return VLLM
	case s.classes[classOfEngines]:
		return SGLang
	case s.classes[layerOfMegatron]:
		return Megatron
	case slices.ContainsFunc(s.names(), func(class string) bool {
		return strings.HasSuffix(class, endOfLayers) || strings.HasSuffix(class, endOfBlocks)
	}):
		return Transformers
	}
	return ""
}

func (s *sight) names() []string {
	list := make([]string, 0, len(s.classes))
	for class := range s.classes {
		list = append(list, class)
	}
	return list
}

// isOf says whether the run has a layer of a family. Megatron has one class of layers for all.
func (s *sight) isOf(f *Family) bool {
	return s.by == Megatron && s.classes[layerOfMegatron] || slices.ContainsFunc(f.Layers, func(class string) bool { return s.classes[class] })
}
