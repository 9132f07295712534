package mapping

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// writer rewrites the programs of one run.
type writer struct {
	*view
	own, others names
	ofProblem   bool
	renamed     map[uint64]uint64 // ops with a new id
	moved       map[rows.Call]rows.Call
}

// program rewrites a program.
func (w *writer) program(id uint64) *program {
	list := w.recorded.Programs[id]
	d := &draft{writer: w, list: list, made: &program{id: id, sites: map[uint64]target{}}, children: map[uint64][]int{}, dropped: map[int]bool{}, replaced: map[uint64]uint64{}}
	for i := range list {
		d.children[list[i].ParentOpID] = append(d.children[list[i].ParentOpID], i)
	}
	for _, g := range d.groups() {
		d.join(&g, g.members, g.common, true)
	}
	d.rename()
	if len(d.replaced) == 0 && len(d.dropped) == 0 {
		return d.made
	}
	d.write(id)
	return d.made
}

// draft is a program that is being rewritten.
type draft struct {
	*writer
	list     []schemas.ProgramRow
	made     *program
	children map[uint64][]int // positions by parent
	dropped  map[int]bool     // positions of parts but the first
	replaced map[uint64]uint64
}

// group is the calls of modules that are parts of one.
type group struct {
	members []int // positions, in the order of the line
	name    string
	common  string
	along   int
	line    int
}

// groupKey separates calls of the same parts.
type groupKey struct {
	rule, call int64
	common     string
	phase      string
}

// groups are the complete groups whose whole the other run has.
func (d *draft) groups() []group {
	found := map[groupKey]*group{}
	var order []groupKey
	for i := range d.list {
		op := d.op(i)
		if op == nil || op.Level != schemas.LevelModule {
			continue
		}
		for n := range d.rules.modules {
			rule := &d.rules.modules[n]
			split, whole := d.sidesOf(rule)
			m, ok := split.find(op.ModulePath)
			if !split.joins() || !ok || m.rest != "" || !d.others.has(fill(whole.text, m.texts)) {
				continue
			}
			key := groupKey{rule: int64(n), call: op.CallIndex, common: rule.common(m.texts), phase: op.Phase}
			if found[key] == nil {
				found[key] = &group{members: slices.Repeat([]int{-1}, len(split.parts)), name: "[" + strings.Join(split.parts, ", ") + "]", common: key.common, along: split.along, line: rule.line}
				order = append(order, key)
			}
			found[key].members[m.part] = i
			break
		}
	}
	var complete []group
	for _, key := range order {
		if g := found[key]; !slices.Contains(g.members, -1) {
			complete = append(complete, *g)
		}
	}
	return complete
}

// sidesOf are the sides of a line that this run and the other one stand on.
func (w *writer) sidesOf(rule *moduleRule) (own, other *pattern) {
	if w.ofProblem {
		return rule.problem, rule.bench
	}
	return rule.bench, rule.problem
}

func (n names) has(path string) bool {
	_, ok := n.classes[path]
	return ok
}

// join makes one op of several, and of their calls, where these are the same.
func (d *draft) join(g *group, members []int, common string, top bool) {
	first := d.op(members[0])
	whole := *first
	whole.ModulePath = common
	whole.Name = joinedName(first, d.opsOf(members), g.name)
	whole.OpID = schemas.OpID(whole.Name)
	d.definitions.Ops[whole.OpID], d.lines[whole.OpID], d.wholes[whole.OpID] = &whole, g.line, true
	for part, at := range members {
		d.replaced[d.list[at].OpID] = whole.OpID
		d.dropped[at] = at != slices.Min(members)
		d.joinSites(g, &whole, at, part, top)
	}
	for _, next := range d.alikeChildren(members) {
		d.join(g, next, d.commonChild(next, members, common), false)
	}
}

func (d *draft) op(at int) *schemas.OpRow { return d.recorded.Ops[d.list[at].OpID] }

func (d *draft) opsOf(members []int) []*schemas.OpRow {
	ops := make([]*schemas.OpRow, len(members))
	for i, at := range members {
		ops[i] = d.op(at)
	}
	return ops
}

// joinedName is the name of the first op with all parts in place of its own: the last part of a module's path, or the
// numbers of all calls.
func joinedName(first *schemas.OpRow, all []*schemas.OpRow, parts string) string {
	if first.Level == schemas.LevelModule {
		head, _ := cutLast(first.ModulePath)
		rest := strings.TrimPrefix(first.Name, first.Prefix+"."+first.ModulePath)
		return first.Prefix + "." + below(head, parts) + rest
	}
	calls := make([]string, len(all))
	for i, op := range all {
		calls[i] = fmt.Sprint(op.CallIndex)
	}
	return first.Prefix + "." + first.ClassOrAPI + "." + strings.Join(calls, "+") + "." + first.Phase
}

// alikeChildren are the calls of the parts, the first of each, the second of each and so on; nothing where the calls
// differ.
func (d *draft) alikeChildren(members []int) [][]int {
	first := d.children[d.list[members[0]].OpID]
	all := make([][]int, len(first))
	for _, at := range members {
		own := d.children[d.list[at].OpID]
		if len(own) != len(first) {
			return nil
		}
		for i, child := range own {
			a, b := d.op(first[i]), d.op(child)
			if a == nil || b == nil || a.Level != b.Level || a.Prefix != b.Prefix || a.ClassOrAPI != b.ClassOrAPI || a.Phase != b.Phase {
				return nil
			}
			all[i] = append(all[i], child)
		}
	}
	return all
}

// commonChild is the common name of the module in which a joined child is.
func (d *draft) commonChild(children, parents []int, common string) string {
	child, parent := d.op(children[0]), d.op(parents[0])
	return common + strings.TrimPrefix(child.ModulePath, parent.ModulePath)
}

// joinSites gives the new sites of the op at one position, a part.
func (d *draft) joinSites(g *group, whole *schemas.OpRow, at, part int, top bool) {
	for _, id := range d.sites[d.list[at].OpID] {
		site := d.recorded.Sites[id]
		t := placeOf(whole, site, g.along, top)
		t.site = schemas.SiteID(whole.OpID, site.Role, site.Path)
		t.part, t.of = int32(part), int32(len(g.members)) //nolint:gosec // of a list
		d.made.sites[id] = t
		d.definitions.Sites[t.site] = schemas.SiteRow{SiteID: t.site, OpID: whole.OpID, Role: site.Role, Path: site.Path}
	}
}

const lastDimension = -1

// placeOf says how the tensors at a site of several parts make one.
func placeOf(op *schemas.OpRow, site schemas.SiteRow, along int, top bool) target {
	module := op.Level == schemas.LevelModule
	backward := op.Phase == schemas.PhaseBackward
	switch site.Role {
	case roleParameter, roleParameterGradient:
		return target{how: concatenated, along: along}
	case roleOutput:
		if backward { // gradients of inputs, which the whole has added up
			return target{how: added}
		}
		return target{how: concatenated, along: lastDimension}
	}
	switch {
	case backward:
		return target{how: concatenated, along: lastDimension}
	case top:
		return target{how: copied, mustAgree: true}
	case !module && site.Path != "0": // a weight or a bias
		return target{how: concatenated, along: along}
	}
	return target{how: concatenated, along: lastDimension, ifSame: true}
}

// rename gives ops of the problem the names of the bench.
func (d *draft) rename() {
	if !d.ofProblem {
		return
	}
	for _, row := range d.list {
		for _, id := range []uint64{row.OpID, row.ParentOpID} {
			to := d.renamedOp(id)
			if id == row.OpID && d.updatesParameters(row) {
				to = d.apart(id)
			}
			if to != id && d.replaced[id] == 0 {
				d.replaced[id] = to
				d.renameSites(id, to)
			}
		}
	}
}

// updatesParameters says whether the op is a call of an optimizer, which makes one for each parameter, in their order:
// where parameters are joined, the calls of both runs have no order in common.
func (d *draft) updatesParameters(row schemas.ProgramRow) bool {
	parent := d.recorded.Ops[row.ParentOpID]
	return d.rules.joins() && parent != nil && schemas.OfOptimizer(parent)
}

// apart is the op under a name that none of the bench has, so that it pairs with nothing.
func (w *writer) apart(id uint64) uint64 {
	op := *w.recorded.Ops[id]
	op.OpID = schemas.OpID(op.Name + "\x1fof the problem's optimizer")
	op.ClassOrAPI += " (joined parameters)"
	w.definitions.Ops[op.OpID] = &op
	return op.OpID
}

// renamedOp is the op by the name that the map gives it, under an id of its own where the bench has that op, too.
func (w *writer) renamedOp(id uint64) uint64 {
	if to, seen := w.renamed[id]; seen {
		return to
	}
	w.renamed[id] = id
	op := w.recorded.Ops[id]
	if op == nil {
		return id
	}
	named, line := w.rules.name(op, w.own.classes)
	if named.ModulePath == op.ModulePath && named.Prefix == op.Prefix && named.ClassOrAPI == op.ClassOrAPI {
		return id
	}
	if w.others.ops[id] {
		named.OpID = schemas.OpID(op.Name + "\x1fof the problem")
	}
	w.definitions.Ops[named.OpID] = &named
	if line >= 0 {
		w.lines[named.OpID] = line
	}
	w.renamed[id] = named.OpID
	return named.OpID
}

func (d *draft) renameSites(from, to uint64) {
	for _, id := range d.sites[from] {
		site := d.recorded.Sites[id]
		renamed := schemas.SiteRow{SiteID: schemas.SiteID(to, site.Role, site.Path), OpID: to, Role: site.Role, Path: site.Path}
		d.definitions.Sites[renamed.SiteID] = renamed
		d.made.sites[id] = target{site: renamed.SiteID}
	}
}

// write puts the program down under a new id.
func (d *draft) write(old uint64) {
	var written []schemas.ProgramRow
	var hasher schemas.ProgramHasher
	from := []uint32{}
	for i, row := range d.list {
		if d.dropped[i] {
			continue
		}
		row.OpID, row.ParentOpID = d.current(row.OpID), d.current(row.ParentOpID)
		from = append(from, row.Position)
		row.Position = uint32(len(written)) //nolint:gosec // fewer than before
		hasher.Add(row.OpID, row.ParentOpID)
		written = append(written, row)
	}
	d.made.id = hasher.ID()
	for i := range written {
		written[i].ProgramID = d.made.id
		if d.moved == nil {
			d.moved = map[rows.Call]rows.Call{}
		}
		d.moved[rows.Call{Program: old, Position: from[i]}] = rows.Call{Program: d.made.id, Position: written[i].Position}
	}
	d.definitions.Programs[d.made.id] = written
}

func (d *draft) current(op uint64) uint64 {
	if to := d.replaced[op]; to != 0 {
		return to
	}
	return op
}

// stacks are the stacks of the calls at their new positions.
func (w *writer) stacks(recorded map[rows.Call]uint64) map[rows.Call]uint64 {
	stacks := maps.Clone(recorded)
	for call, stack := range recorded {
		if to, ok := w.moved[call]; ok {
			stacks[to] = stack
		}
	}
	return stacks
}
