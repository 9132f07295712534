package mapping

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// view makes sides of runs, and adds their new definitions.
type view struct {
	rules       *Map
	recorded    *rows.Definitions   // as they were
	sites       map[uint64][]uint64 // recorded, by op
	definitions *rows.Definitions
	layouts     *layouts
	lines       map[uint64]int // by which an op got its name, or its parts were joined
	wholes      map[uint64]bool
}

func newView(rules *Map, recorded *rows.Definitions) *view {
	v := &view{rules: rules, recorded: recorded, sites: map[uint64][]uint64{}, definitions: cloned(recorded), lines: map[uint64]int{}, wholes: map[uint64]bool{}}
	v.layouts = newLayouts(v.definitions)
	if rules.Flatten {
		v.layouts.flatten()
	}
	for id, site := range recorded.Sites {
		v.sites[site.OpID] = append(v.sites[site.OpID], id)
	}
	return v
}

// side is a run as the map has it.
type side struct {
	recorded, run *rows.Run
	layouts       *layouts
	programs      map[rows.Place]*program
	open          *program // of steps that have not ended; nil if they are unknown
	renamed       map[uint64]uint64
}

// program has the targets of the sites of a recorded program.
type program struct {
	id    uint64
	sites map[uint64]target
}

// target is what a site becomes: another one, or part of a joined one.
type target struct {
	site      uint64
	part, of  int32 // of 0: it is no part
	how       how
	along     int
	ifSame    bool // copies where all parts are the same, else as said
	mustAgree bool // no whole where they are not the same
}

// names are the modules that a run has, by path, with their classes, and its ops.
type names struct {
	classes map[string]string
	ops     map[uint64]bool
}

func (v *view) namesOf(run *rows.Run) names {
	n := names{classes: map[string]string{}, ops: map[uint64]bool{}}
	for _, id := range programIDs(run) {
		for _, row := range v.recorded.Programs[id] {
			for _, op := range []uint64{row.OpID, row.ParentOpID} {
				n.ops[op] = true
				if d := v.recorded.Ops[op]; d != nil && d.Level == schemas.LevelModule && n.classes[d.ModulePath] == "" {
					n.classes[d.ModulePath] = d.ClassOrAPI
				}
			}
		}
	}
	return n
}

func programIDs(run *rows.Run) []uint64 {
	var ids []uint64
	for i := range run.Steps {
		ids = append(ids, run.Steps[i].ProgramID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// look makes the sides of the problem, the first run, and its benches.
func (v *view) look(recorded []*rows.Run) map[string]*side {
	all := make([]names, len(recorded))
	for i, run := range recorded {
		all[i] = v.namesOf(run)
	}
	sides := map[string]*side{}
	for i, run := range recorded {
		if sides[run.Name] != nil {
			continue
		}
		w := &writer{view: v, own: all[i], others: all[0], ofProblem: i == 0, renamed: map[uint64]uint64{}}
		if i == 0 {
			w.others = all[1]
		}
		sides[run.Name] = v.side(run, w)
	}
	return sides
}

func (v *view) side(run *rows.Run, w *writer) *side {
	s := &side{recorded: run, layouts: v.layouts, programs: map[rows.Place]*program{}, renamed: w.renamed}
	programs := map[uint64]*program{}
	for _, id := range programIDs(run) {
		programs[id] = w.program(id)
	}
	seen := *run
	seen.Steps = slices.Clone(run.Steps)
	for i := range seen.Steps {
		step := &seen.Steps[i]
		s.open = programs[step.ProgramID]
		s.programs[rows.Place{Rank: step.Rank, Step: step.Step}] = s.open
		step.ProgramID = s.open.id
	}
	seen.Stacks = w.stacks(run.Stacks)
	s.run = &seen
	return s
}

// samples are the first place of each program that joins parts, by rank, then step.
func (s *side) samples() []rows.Place {
	first := map[*program]rows.Place{}
	for i := range s.recorded.Steps {
		step := &s.recorded.Steps[i]
		at := rows.Place{Rank: step.Rank, Step: step.Step}
		of := s.programs[at]
		if _, seen := first[of]; !seen && step.TensorCount > 0 && of.joins() {
			first[of] = at
		}
	}
	return slices.SortedFunc(maps.Values(first), comparePlaces)
}

func (p *program) joins() bool {
	for _, t := range p.sites {
		if t.of > 0 {
			return true
		}
	}
	return false
}

func comparePlaces(a, b rows.Place) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step))
}

// layouts finds and makes layouts of joined and flattened tensors.
type layouts struct {
	definitions *rows.Definitions
	flat        map[uint64]uint64 // layouts whose dimensions but the last are one
	byContent   map[string]uint64
	flattens    bool
	learning    bool // whether layouts may be added
}

func newLayouts(definitions *rows.Definitions) *layouts {
	l := &layouts{definitions: definitions, flat: map[uint64]uint64{}, byContent: map[string]uint64{}}
	for _, id := range slices.Sorted(maps.Keys(definitions.Layouts)) {
		row := definitions.Layouts[id]
		if content := contentOf(row, row.Shape); l.byContent[content] == 0 {
			l.byContent[content] = id
		}
	}
	return l
}

// flatten has all tensors be matrices at most.
func (l *layouts) flatten() {
	l.flattens, l.learning = true, true
	for _, id := range slices.Sorted(maps.Keys(l.definitions.Layouts)) {
		row := l.definitions.Layouts[id]
		if shape := flattened(row.Shape); len(shape) != len(row.Shape) {
			l.flat[id] = l.like(row, shape)
		}
	}
	l.learning = false
}

// contentOf is the part of a layout that counts.
func contentOf(row *schemas.LayoutRow, shape []int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %q ", row.Kind, row.Dtype, row.Literal)
	if row.RequiresGrad != nil {
		b.WriteString(strconv.Itoa(int(*row.RequiresGrad)))
	}
	for _, size := range shape {
		b.WriteByte(' ')
		b.WriteString(strconv.FormatInt(size, 10))
	}
	return b.String()
}

// like is a layout of another shape; 0 where it is not defined and may not be added.
func (l *layouts) like(row *schemas.LayoutRow, shape []int64) uint64 {
	content := contentOf(row, shape)
	if id := l.byContent[content]; id != 0 || !l.learning {
		return id
	}
	made := *row
	made.Shape = shape
	made.LayoutID = schemas.LayoutID(&made)
	l.definitions.Layouts[made.LayoutID] = &made
	l.byContent[content] = made.LayoutID
	return made.LayoutID
}

// seen is a shape as others see it.
func (l *layouts) seen(shape []int64) []int64 {
	if l.flattens {
		return flattened(shape)
	}
	return shape
}

func (l *layouts) flattened(id uint64) uint64 {
	if flat, ok := l.flat[id]; ok {
		return flat
	}
	return id
}
