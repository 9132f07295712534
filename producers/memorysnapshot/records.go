package memorysnapshot

import (
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/internal/pickle"
)

const (
	mostSpare  = 64
	mostBlocks = 4 << 20 // of a segment
)

// pushOpen pushes an empty list or dict. A list is a trace by its place.
func (m *machine) pushOpen(code byte) error {
	c := m.fresh()
	if code == pickle.EmptyDict {
		return m.push(value{kind: dict, open: c})
	}
	switch {
	case len(m.stack) > 0 && m.stack[len(m.stack)-1] == (value{kind: text, n: int64(fieldTraces)}):
		c.role = traces
	case m.inTraces():
		c.role, c.device = trace, m.count
		m.count++
	}
	return m.push(value{kind: list, open: c})
}

// beneath is the list just below a place of the stack, where no mark lies between: the value there is appended alone.
func (m *machine) beneath(place int) *container {
	if place < 1 || (len(m.marks) > 0 && m.marks[len(m.marks)-1] == place) {
		return nil
	}
	return m.stack[place-1].open.ifList(m.stack[place-1].kind)
}

// marked is the list below the last mark.
func (m *machine) marked() *container {
	if len(m.marks) == 0 || m.marks[len(m.marks)-1] < 1 {
		return nil
	}
	v := m.stack[m.marks[len(m.marks)-1]-1]
	return v.open.ifList(v.kind)
}

func (c *container) ifList(k kind) *container {
	if k != list {
		return nil
	}
	return c
}

// around is the list that the record at a place goes to, nil where it goes to none. A list of records has no lists in it.
func (m *machine) around(place int) *container {
	if above := m.beneath(place); above != nil {
		return above
	}
	return m.marked()
}

// inTraces says whether a list that is pushed now is a trace of one device.
func (m *machine) inTraces() bool {
	for _, above := range []*container{m.marked(), m.beneath(len(m.stack))} {
		if above != nil && above.role == traces {
			return true
		}
	}
	return false
}

func (m *machine) fresh() *container {
	if n := len(m.spare); n > 0 {
		c := m.spare[n-1]
		m.spare = m.spare[:n-1]
		c.role, c.device, c.remembered, c.blocks, c.has = plain, 0, -1, nil, 0
		return c
	}
	return &container{remembered: -1}
}

// release gives a container back that nothing refers to any more.
func (m *machine) release(c *container) {
	if len(m.spare) < mostSpare {
		m.spare = append(m.spare, c)
	}
}

// setItems gives keys and values to the dict before them.
func (m *machine) setItems(from int) error {
	if from < 1 || (len(m.stack)-from)%2 != 0 {
		return errors.New("keys and values for no dict")
	}
	into := m.stack[from-1]
	if into.kind == dict {
		m.fill(into.open, m.stack[from:])
	} else if into.kind != taken && into.kind != frame {
		return errors.New("keys and values for no dict")
	}
	if err := m.cut(from); err != nil || into.kind != dict {
		return err
	}
	return m.complete(from-1, into.open)
}

func (m *machine) fill(c *container, items []value) {
	for i := 0; i+1 < len(items); i += 2 {
		if key := items[i]; key.kind == text && key.n < int64(fieldCount) {
			c.set(field(key.n), items[i+1]) //nolint:gosec // fewer than fields
		} else {
			m.drop(items[i+1])
		}
	}
}

// drop gives back what nobody reads.
func (m *machine) drop(v value) {
	if v.kind == dict {
		m.release(v.open)
	}
}

// complete hands a record over, which has all its keys.
func (m *machine) complete(at int, c *container) error {
	switch {
	case c.holds(fieldSegments) || c.holds(fieldTraces) || at == 0:
		return nil // the snapshot itself
	case c.holds(fieldFilename):
		return m.completeFrame(at, c)
	case c.holds(fieldAction):
		if above := m.around(at); above != nil && above.role == trace {
			m.to.event(above.device, c)
		}
	case c.holds(fieldBlocks) || c.holds(fieldTotal):
		m.completeSegment(c)
	case c.holds(fieldState):
		if err := m.completeBlock(m.around(at), c); err != nil {
			return err
		}
	case c.holds(fieldRealSize):
		if above := m.around(at); above != nil && !above.holds(fieldRealSize) {
			above.set(fieldRealSize, c.get(fieldRealSize))
			above.set(fieldFrames, c.get(fieldFrames))
		}
	}
	m.stack[at] = value{kind: taken}
	m.release(c)
	return nil
}

func (m *machine) completeFrame(at int, c *container) error {
	f := frameOf{line: c.get(fieldLine).n}
	if file := c.get(fieldFilename); file.kind == text {
		f.file = uint32(file.n) //nolint:gosec // a place
	}
	if name := c.get(fieldName); name.kind == text {
		f.name = uint32(name.n) //nolint:gosec // a place
	}
	place, err := m.known.frame(f)
	if err != nil {
		return err
	}
	m.settle(at, c.remembered, value{kind: frame, n: int64(place)})
	m.release(c)
	return nil
}

// settle puts what a container has become into its place, and remembers that instead.
func (m *machine) settle(at int, remembered int64, v value) {
	m.stack[at] = v
	if remembered >= 0 {
		m.memory.set(remembered, v)
	}
}

func (m *machine) completeBlock(into, c *container) error {
	if into == nil {
		return nil
	}
	if len(into.blocks) >= mostBlocks {
		return fmt.Errorf("more than %d blocks in a segment", mostBlocks)
	}
	into.blocks = append(into.blocks, m.blockOf(c))
	return nil
}

func (m *machine) completeSegment(c *container) {
	var blocks []block
	if v := c.get(fieldBlocks); v.kind == list {
		blocks = v.open.blocks
	}
	m.to.segment(c, blocks)
}

// extend gives items to the list before them. Records among them were handed over before; frames become a stack.
func (m *machine) extend(from int) error {
	if from < 1 || from > len(m.stack) {
		return errors.New("items for no list")
	}
	into, items := m.stack[from-1], m.stack[from:]
	if into.kind != list && into.kind != stack {
		return errors.New("items for no list")
	}
	var err error
	if len(items) > 0 && items[0].kind == frame {
		err = m.extendStack(from-1, into, items)
	}
	for _, v := range items {
		m.drop(v)
	}
	return errors.Join(err, m.cut(from))
}

func (m *machine) extendStack(at int, into value, items []value) error {
	remembered, frames := int64(-1), []uint32(nil)
	if into.open != nil {
		remembered = into.open.remembered
	} else { // of more frames than come in one piece
		frames = append(frames, m.known.stacks[into.n]...)
	}
	for _, v := range items {
		if v.kind == frame {
			frames = append(frames, uint32(v.n)) //nolint:gosec // a place
		}
	}
	place, err := m.known.stack(frames)
	if err == nil {
		m.settle(at, remembered, value{kind: stack, n: int64(place)})
	}
	return err
}

// blockOf is a block as its record says, in the terms of new and of old versions.
func (m *machine) blockOf(c *container) block {
	b := block{address: c.bytes(fieldAddress), size: c.size(fieldSize), stack: stackOf(c), state: m.stateOf(c.get(fieldState))}
	b.requested, b.known = c.size(fieldRequested), c.holds(fieldRequested)
	if v := c.get(fieldHistory); v.kind == list {
		if b.stack == 0 {
			b.stack = stackOf(v.open)
		}
		if !b.known {
			b.requested, b.known = v.open.size(fieldRealSize), v.open.holds(fieldRealSize)
		}
	}
	return b
}

func stackOf(c *container) uint32 {
	if v := c.get(fieldFrames); v.kind == stack {
		return uint32(v.n) //nolint:gosec // a place
	}
	return 0
}
