package result

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/schemas"
)

// layerKey is a layer of the model, in one direction.
type layerKey struct {
	direction string
	index     int32
	path      string // of the module that is the layer; empty where no path says it
}

// layerSum has the errors of a layer.
type layerSum struct {
	paired, differing, notFinite uint64
	greatest                     float64
	greatestSite                 uint64    // in the problem, of the first row with that error; of one place alone
	errors                       []float64 // all finite ones, of one place alone
}

// layerSums are the sums of all layers.
type layerSums map[layerKey]*layerSum

func (s layerSums) of(key layerKey) *layerSum {
	sum := s[key]
	if sum == nil {
		sum = &layerSum{}
		s[key] = sum
	}
	return sum
}

// add counts one pair.
func (s *layerSum) add(j *judge.Judged) {
	s.paired++
	if j.Differs {
		s.differing++
	}
	if j.Differs && j.Numeric == judge.NumericNotFinite {
		s.notFinite++
	}
	off := errorOf(j)
	if !isFinite(off) {
		return
	}
	if len(s.errors) == 0 || off > s.greatest {
		s.greatest, s.greatestSite = off, j.Problem.SiteID
	}
	s.errors = append(s.errors, off)
}

// take adds the layers of a place.
func (s layerSums) take(of layerSums) {
	for key, part := range of {
		s.of(key).merge(part)
	}
}

func (s *layerSum) merge(part *layerSum) {
	s.paired += part.paired
	s.differing += part.differing
	s.notFinite += part.notFinite
	s.greatest = max(s.greatest, part.greatest)
}

// shown is the greatest error. An error of 0 beside NaN or infinity in one run only would read as if nothing were wrong.
func (s *layerSum) shown() float64 {
	if s.notFinite > 0 && s.greatest == 0 {
		return math.NaN()
	}
	return s.greatest
}

// mostLayerSums bounds the layers that are kept of steps that do not differ, about 100 bytes each.
const mostLayerSums = 200_000

// stepLayers keeps the layers of the first step that differs. Until one does, that may be any.
type stepLayers struct {
	steps   map[uint32]layerSums
	count   int
	differs bool
	step    uint32 // the first that differs
}

func newStepLayers() *stepLayers { return &stepLayers{steps: map[uint32]layerSums{}} }

// take adds the layers of a place.
func (s *stepLayers) take(step uint32, of layerSums) {
	if s.differs && step > s.step {
		return
	}
	sums := s.steps[step]
	if sums == nil {
		sums = layerSums{}
		s.steps[step] = sums
	}
	before := len(sums)
	sums.take(of)
	s.count += len(sums) - before
	s.bound()
}

// found says that a step differs. Later ones are of no more interest.
func (s *stepLayers) found(step uint32) {
	if !s.differs || step < s.step {
		s.differs, s.step = true, step
		s.drop(func(other uint32) bool { return other > step })
	}
}

func (s *stepLayers) drop(unwanted func(step uint32) bool) {
	maps.DeleteFunc(s.steps, func(step uint32, sums layerSums) bool {
		if unwanted(step) {
			s.count -= len(sums)
			return true
		}
		return false
	})
}

// bound drops the earlier half of the steps, whose ranks have most likely all been here. It keeps the first step of
// all and the first that differs.
func (s *stepLayers) bound() {
	if s.count <= mostLayerSums {
		return
	}
	steps := slices.Sorted(maps.Keys(s.steps))
	middle := steps[len(steps)/2]
	s.drop(func(step uint32) bool { return step > steps[0] && step <= middle && (!s.differs || step != s.step) })
}

// rows are the layers of the first step that differs; where none does, of the first step.
func (s *stepLayers) rows() []Layer {
	if len(s.steps) == 0 {
		return nil
	}
	step := slices.Min(slices.Collect(maps.Keys(s.steps)))
	if s.differs {
		step = s.step
	}
	layers := s.steps[step].rows()
	for i := range layers {
		layers[i].Step = step
	}
	return layers
}

// layerSight finds the layer of one pair after another; pairs of a layer follow each other.
type layerSight struct {
	sights *sights
	sums   layerSums
	layer  *layerKey
	sum    *layerSum
}

// add counts a pair that was measured.
func (l *layerSight) add(row int, j *judge.Judged) {
	if !j.Paired() || j.Evidence == judge.EvidenceNone || j.Evidence == judge.EvidenceLiteral {
		return
	}
	if layer := l.sights.at(row, j.Problem.SiteID).layer; l.layer == nil || *layer != *l.layer {
		l.layer, l.sum = layer, l.sums.of(*layer)
	}
	l.sum.add(j)
}

// layer is the layer of an op, or of the module that it ran in. What an optimizer does is after all layers.
func (n *names) layer(id uint64) layerKey {
	op, known := n.definitions.Ops[id]
	if !known {
		return layerKey{direction: "forward", index: -1}
	}
	parent := n.definitions.Ops[n.parents()[id]]
	if schemas.OfOptimizer(op) || parent != nil && schemas.OfOptimizer(parent) {
		return layerKey{direction: "backward", index: -1, path: schemas.OptimizerName}
	}
	key := layerKey{direction: direction(op.Phase), index: op.LayerIndex}
	module := op
	if op.LayerIndex < 0 && parent != nil {
		key.index, module = parent.LayerIndex, parent
	}
	if key.index >= 0 {
		key.path = layerPath(module)
	}
	return key
}

func direction(phase string) string {
	if phase == "backward" || phase == "gradient" {
		return "backward"
	}
	return "forward"
}

// layerPath is the beginning of a module's path up to the first part that ends with a number.
func layerPath(module *schemas.OpRow) string {
	path := module.ModulePath
	for end := range len(path) + 1 {
		if (end == len(path) || path[end] == '.') && end > 0 && path[end-1] >= '0' && path[end-1] <= '9' {
			return path[:end]
		}
	}
	return ""
}

// rows are the layers in the order of their execution. A value saved by name, in a layer but in no module, belongs to
// the layer whose path has that number or, where there is not one, to layers and the number.
func (s layerSums) rows() []Layer {
	byName := map[Layer]*layerSum{}
	known := s.knownPaths()
	for key, sum := range s {
		named := Layer{Direction: key.direction, Index: key.index, Name: key.path}
		if paths := known[key.index]; key.index >= 0 && key.path == "" {
			named.Name = "layers." + strconv.Itoa(int(key.index))
			if len(paths) == 1 {
				named.Name = paths[0]
			}
		}
		if byName[named] == nil {
			byName[named] = &layerSum{}
		}
		byName[named].merge(sum)
	}
	layers := make([]Layer, 0, len(byName))
	for named, sum := range byName {
		named.PairedCount, named.DifferingCount, named.NotFiniteCount, named.GreatestError = sum.paired, sum.differing, sum.notFinite, sum.shown()
		layers = append(layers, named)
	}
	slices.SortFunc(layers, compareLayers)
	return layers
}

// knownPaths are the paths of each number of a layer.
func (s layerSums) knownPaths() map[int32][]string {
	known := map[int32][]string{}
	for key := range s {
		if key.path != "" && !slices.Contains(known[key.index], key.path) {
			known[key.index] = append(known[key.index], key.path)
		}
	}
	return known
}

func compareLayers(a, b Layer) int {
	order := cmp.Compare(a.Index, b.Index)
	if a.Direction == "backward" {
		order = -order
	}
	return cmp.Or(cmp.Compare(b.Direction, a.Direction), order, cmp.Compare(a.Name, b.Name))
}
