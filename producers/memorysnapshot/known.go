package memorysnapshot

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Limits on what a snapshot has of different texts, frames and stacks. Each is kept once.
const (
	mostTexts     = 1 << 20
	mostTextBytes = 64 << 20
	mostFrames    = 1 << 20
	mostStacks    = 1 << 20
	mostDepth     = 1024    // frames of a stack that are kept, innermost first
	mostDeep      = 1 << 23 // frames of all stacks
)

var errTooMany = errors.New("it has more different texts, frames or stacks than are kept")

// frameOf is a line of a stack, by places of texts.
type frameOf struct {
	file, name uint32
	line       int64
}

// known are the different texts, frames and stacks of a snapshot.
type known struct {
	texts     []string
	textAt    map[string]uint32
	textBytes int
	frames    []frameOf
	frameAt   map[frameOf]uint32
	stacks    [][]uint32
	stackAt   map[string]uint32
	deep      int
	key       []byte
}

// newKnown has the keys that matter as the first texts, and the empty stack as the first one.
func newKnown() *known {
	k := &known{
		textAt: map[string]uint32{}, frameAt: map[frameOf]uint32{},
		stackAt: map[string]uint32{"": 0}, stacks: [][]uint32{nil},
	}
	for i, name := range fieldNames() {
		k.texts = append(k.texts, name)
		k.textAt[name] = uint32(i) //nolint:gosec // few
	}
	return k
}

// text is the place of a text.
func (k *known) text(raw []byte) (uint32, error) {
	if at, ok := k.textAt[string(raw)]; ok {
		return at, nil
	}
	if k.textBytes += len(raw); len(k.texts) >= mostTexts || k.textBytes > mostTextBytes {
		return 0, errTooMany
	}
	at := uint32(len(k.texts)) //nolint:gosec // limited
	k.texts = append(k.texts, string(raw))
	k.textAt[k.texts[at]] = at
	return at, nil
}

func (k *known) frame(f frameOf) (uint32, error) {
	if at, ok := k.frameAt[f]; ok {
		return at, nil
	}
	if len(k.frames) >= mostFrames {
		return 0, errTooMany
	}
	at := uint32(len(k.frames)) //nolint:gosec // limited
	k.frames = append(k.frames, f)
	k.frameAt[f] = at
	return at, nil
}

// stack is the place of a stack. The frames are copied.
func (k *known) stack(frames []uint32) (uint32, error) {
	frames = frames[:min(len(frames), mostDepth)]
	k.key = k.key[:0]
	for _, f := range frames {
		k.key = binary.LittleEndian.AppendUint32(k.key, f)
	}
	if at, ok := k.stackAt[string(k.key)]; ok {
		return at, nil
	}
	if k.deep += len(frames); len(k.stacks) >= mostStacks || k.deep > mostDeep {
		return 0, errTooMany
	}
	at := uint32(len(k.stacks)) //nolint:gosec // limited
	k.stacks = append(k.stacks, append([]uint32(nil), frames...))
	k.stackAt[string(k.key)] = at
	return at, nil
}

// lines are the frames of a stack as rows have them.
func (k *known) lines(stack uint32) []string {
	lines := make([]string, len(k.stacks[stack]))
	for i, at := range k.stacks[stack] {
		f := k.frames[at]
		lines[i] = strings.ToValidUTF8(fmt.Sprintf("File %s, line %d, in %s", k.texts[f.file], f.line, k.texts[f.name]), "?")
	}
	return lines
}

// memory is what a pickle has remembered, in pages; those that hold nothing which is kept take no memory.
type memory struct {
	pages [][]uint32
	count int64
}

const (
	pageSize  = 1024
	kindShift = 28
)

// set remembers a value, and whatever else lies there is forgotten.
func (m *memory) set(at int64, v value) {
	page := at / pageSize
	for int64(len(m.pages)) <= page {
		m.pages = append(m.pages, nil)
	}
	kept := uint32(0)
	if v.kind == text || v.kind == frame || v.kind == stack {
		kept = uint32(v.kind)<<kindShift | uint32(v.n) //nolint:gosec // all are limited
	}
	if m.pages[page] == nil {
		if kept == 0 {
			return
		}
		m.pages[page] = make([]uint32, pageSize)
	}
	m.pages[page][at%pageSize] = kept
}

// get is a value that is kept, and otherwise one of no use.
func (m *memory) get(at int64) value {
	page := at / pageSize
	if page >= int64(len(m.pages)) || m.pages[page] == nil {
		return value{}
	}
	kept := m.pages[page][at%pageSize]
	return value{kind: kind(kept >> kindShift), n: int64(kept & (1<<kindShift - 1))}
}
