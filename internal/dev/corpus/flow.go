package corpus

import (
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"
)

// flow carries a fault through a dump as the numbers carry it through a model:
// two rows with the same statistics are the same tensor, so whatever repeats a
// changed tensor changes alike, and whatever is computed from one changes too.
type flow struct {
	changed map[string]*Node // a row as it was, by its numbers, and as it is now
	seen    map[string]bool  // rows that came before, as they were
	weights map[string]bool  // rows that are parameters: no computation gives them
	sources map[*Node]bool   // rows that the fault itself changed
	begun   bool
	error   float64 // relative error of what is computed from something wrong
	spoil   func(n *Node, relative float64, seed string)
}

// statistics are the keys by which a row is known again.
func statistics() []string { return []string{"Max", "Min", "Mean", "Norm", "md5"} }

// fingerprint is a row's numbers, without its shape: views keep them.
func fingerprint(n *Node) string {
	var b strings.Builder
	for _, key := range statistics() {
		if v := n.Get(key); v != nil {
			b.WriteString(v.Text)
		}
		b.WriteByte(' ')
	}
	return b.String()
}

func newFlow(p *Part, relative float64) *flow {
	f := &flow{
		changed: map[string]*Node{}, seen: map[string]bool{}, weights: map[string]bool{}, sources: map[*Node]bool{}, error: relative, spoil: disturb,
	}
	ops := p.Ops()
	for i, op := range ops.Keys {
		for _, l := range Leaves(op, ops.Items[i]) {
			if l.Role == "parameter" || isWeight(op, l) {
				f.weights[fingerprint(l.Node)] = true
			}
		}
	}
	return f
}

// isWeight tells arguments that are parameters where no module names them.
func isWeight(op string, l Leaf) bool {
	if l.Role != "input" || !strings.HasSuffix(op, ".forward") {
		return false
	}
	for _, api := range []string{"linear", "embedding", "layer_norm", "batch_norm", "conv2d"} {
		if strings.HasPrefix(op, "Functional."+api+".") {
			return l.Path != "0"
		}
	}
	return strings.HasPrefix(op, "Tensor.add_.") && l.Path == "0"
}

// wrong notes that a row is wrong, and how.
func (f *flow) wrong(was, is *Node) {
	f.changed[fingerprint(was)] = is.Clone()
}

// run walks the ops of a part; those before the first of the fault stay as they are.
func (f *flow) run(p *Part, first string) {
	ops := p.Ops()
	begin := max(slices.Index(ops.Keys, first), 0)
	for i, op := range ops.Keys[:begin] {
		for _, l := range Leaves(op, ops.Items[i]) {
			f.seen[fingerprint(l.Node)] = true
		}
	}
	for i, op := range ops.Keys[begin:] {
		f.op(op, ops.Items[begin+i])
	}
}

func (f *flow) op(op string, entry *Node) {
	leaves := Leaves(op, entry)
	bad, sound := false, map[string]bool{}
	for _, l := range leaves {
		if result(l) {
			continue
		}
		if was := fingerprint(l.Node); f.follows(op, l, was) {
			bad = true
		} else {
			sound[was] = true
		}
	}
	// A gradient is computed from what the forward kept, and that is wrong already.
	bad = bad || gradient(op) && f.begun
	for _, l := range leaves {
		if !result(l) {
			continue
		}
		if was := fingerprint(l.Node); f.repeats(op, l, was) || !bad || sound[was] {
			continue
		}
		f.perturb(l.Node, fingerprint(l.Node))
	}
}

// gradient says whether an op belongs to the backward pass.
func gradient(op string) bool {
	return strings.Contains(op, ".backward") || strings.Contains(op, ".parameters_grad.")
}

func result(l Leaf) bool { return l.Role == "output" || l.Role == "parameter_gradient" }

// follows changes an input that is wrong: known as such, or derived from who knows what after the fault began.
func (f *flow) follows(op string, l Leaf, was string) bool {
	if f.sources[l.Node] {
		f.begun = true
		return true
	}
	if !tensor(l.Node) {
		return false
	}
	if is, ok := f.changed[was]; ok {
		take(l.Node, is)
		f.begun = true
		return true
	}
	before := f.seen[was]
	f.seen[was] = true
	if !f.begun || before || f.weights[was] || (gradient(op) && elements(l.Node) == 1) {
		return false
	}
	f.perturb(l.Node, was)
	return true
}

// repeats settles an output that is not computed anew: the fault's own, one that is known to be wrong, or, of a module,
// what an op inside it gave.
func (f *flow) repeats(op string, l Leaf, was string) bool {
	if !tensor(l.Node) || f.sources[l.Node] {
		f.begun = f.begun || f.sources[l.Node]
		return true
	}
	before := f.seen[was]
	f.seen[was] = true
	if is, ok := f.changed[was]; ok {
		take(l.Node, is)
		f.begun = true
		return true
	}
	return strings.HasPrefix(op, "Module.") && before
}

// perturb changes a tensor as an error of a few percent does.
func (f *flow) perturb(n *Node, was string) {
	before := n.Clone()
	f.spoil(n, f.error, was)
	f.wrong(before, n)
	f.error = math.Min(f.error*1.002, 0.3)
}

// disturb changes the statistics of a tensor as noise of that relative error
// might, always in the same way for the same seed.
func disturb(n *Node, relative float64, seed string) {
	norm, count := value(n, "Norm"), elements(n)
	for i, key := range []string{"Max", "Min", "Norm", "Mean"} {
		if !number(n.Get(key)) {
			continue
		}
		v, u := value(n, key), chance(seed, i)
		if key == "Mean" {
			v += relative * norm / math.Sqrt(math.Max(count, 1)) * u * 0.3
		} else {
			v *= 1 + relative*u
		}
		n.Set(key, decimal(v))
	}
	if md5 := n.Get("md5"); md5 != nil {
		n.Set("md5", digest(md5.Text, seed))
	}
}

// chance is a number from 0.3 to 1, of either sign, that seed and index decide.
func chance(seed string, index int) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(seed + strconv.Itoa(index))) // a hash never fails
	bits := h.Sum64() ^ h.Sum64()>>29
	u := 0.3 + 0.7*float64(bits%1024)/1023
	if bits>>40&1 == 1 {
		return -u
	}
	return u
}

// digest is another checksum of the same form.
func digest(was, seed string) *Node {
	h := fnv.New64a()
	_, _ = h.Write([]byte(was + seed)) // a hash never fails
	hex := strconv.FormatUint(h.Sum64()|1<<63, 16)
	if strings.HasPrefix(was, `"0x`) {
		return Quoted("0x" + hex)
	}
	return Quoted(hex[:8])
}

// take gives a row the numbers of another.
func take(to, from *Node) {
	for _, key := range statistics() {
		if v := from.Get(key); v != nil && to.Get(key) != nil {
			to.Set(key, v.Clone())
		}
	}
}
