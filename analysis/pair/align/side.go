package align

import "strings"

// interner numbers keys from 1 on; equal keys of both programs have equal numbers.
type interner map[key]uint32

// key is equal for two ops that do the same: all but the call index.
type key struct {
	id                          uint64 // only of an op that nothing else is known of
	level, prefix, class, phase string
	name                        string // of a module, the last part of its path
}

func (in interner) number(k key) uint32 {
	n, ok := in[k]
	if !ok {
		n = uint32(len(in)) + 1 //nolint:gosec // fewer than the ops
		in[k] = n
	}
	return n
}

func keyOf(op *Op) key {
	if op.Level == "" {
		return key{id: op.ID}
	}
	k := key{level: op.Level, prefix: op.Prefix, class: op.ClassOrAPI, phase: op.Phase}
	if op.Level == levelModule {
		k.name = op.ModulePath[strings.LastIndexByte(op.ModulePath, '.')+1:]
	}
	return k
}

// side is one of the two programs.
type side struct {
	ops     []Op
	key     []uint32
	exact   []uint32 // the key and the signature
	place   []uint32 // a number for the whole path and class
	parent  []int32  // index of the parent, none without
	partner []int32  // index in the other program, none while there is none
	forward []int32  // of a backward op, the op that it belongs to; none without
	parents []bool   // has children
	shape   []uint64
	shown   []bool
}

func newSide(ops []Op, keys interner) side {
	s := side{
		ops: ops, key: make([]uint32, len(ops)), parent: make([]int32, len(ops)), partner: make([]int32, len(ops)),
		place: make([]uint32, len(ops)), parents: make([]bool, len(ops)), shape: make([]uint64, len(ops)), shown: make([]bool, len(ops)),
	}
	for i := range ops {
		s.key[i], s.partner[i] = keys.number(keyOf(&ops[i])), none
		s.place[i] = keys.number(key{class: ops[i].ClassOrAPI, name: ops[i].ModulePath})
	}
	s.link()
	s.unwind()
	for i, above := range s.parent {
		if above != none {
			s.parents[above] = true
			s.shape[above] = (s.shape[above] + uint64(s.key[i])) * 0x9e3779b97f4a7c15
		}
	}
	return s
}

// link finds the parents. Of several ops with one id the first counts.
func (s *side) link() {
	at := make(map[uint64]int32, len(s.ops))
	for i := range s.ops {
		if _, ok := at[s.ops[i].ID]; !ok {
			at[s.ops[i].ID] = int32(i) //nolint:gosec // positions are 32 bits wide
		}
	}
	for i := range s.ops {
		s.parent[i] = none
		if above, ok := at[s.ops[i].ParentID]; ok && s.ops[i].ParentID != 0 {
			s.parent[i] = above
		}
	}
}

// unwind takes the parent from one op of every circle, which only a damaged source has.
func (s *side) unwind() {
	seen := make([]int32, len(s.ops)) // the walk that came by; 0 for none
	for i := range s.ops {
		walk := int32(i) + 1                 //nolint:gosec // an index
		for at := int32(i); seen[at] == 0; { //nolint:gosec // an index
			seen[at] = walk
			above := s.parent[at]
			if above == none {
				break
			}
			if seen[above] == walk {
				s.parent[at] = none
				break
			}
			at = above
		}
	}
}

// call is one call of a module or an API, whatever the phase.
type call struct {
	prefix, class, path string
	index               int64
}

func callOf(op *Op) call { return call{op.Prefix, op.ClassOrAPI, op.ModulePath, op.CallIndex} }

// calls finds the ops of some phases by their calls; the first one of several.
func (s *side) calls(phases func(string) bool) map[call]int32 {
	found := make(map[call]int32, len(s.ops)/2)
	for i := range s.ops {
		op := &s.ops[i]
		if op.CallIndex < 0 || !phases(op.Phase) {
			continue
		}
		if _, ok := found[callOf(op)]; !ok {
			found[callOf(op)] = int32(i) //nolint:gosec // an index
		}
	}
	return found
}

// forwards finds the forward op of every backward op.
func (s *side) forwards() []int32 {
	found := s.calls(func(phase string) bool { return phase != phaseBackward && phase != phaseGradient })
	forward := make([]int32, len(s.ops))
	for i := range s.ops {
		forward[i] = none
		if s.ops[i].Phase != phaseBackward || s.ops[i].CallIndex < 0 {
			continue
		}
		if f, ok := found[callOf(&s.ops[i])]; ok {
			forward[i] = f
		}
	}
	return forward
}

// free says whether the op may still be given a partner by its place: it has none,
// and is not the backward of an op that itself has none.
func (s *side) free(i int32) bool {
	return s.partner[i] == none && (s.forward[i] == none || s.partner[s.forward[i]] != none)
}
