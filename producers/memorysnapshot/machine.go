package memorysnapshot

import (
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/internal/pickle"
)

const (
	mostOpen  = 1 << 16 // values on the stack: a snapshot has some thousand
	mostMarks = 1 << 12
	eachCheck = 4096 // operations
)

// taker gets the records of a snapshot in the order of the file. What they hold is good until the call returns.
type taker interface {
	segment(c *container, blocks []block)
	event(device int, c *container)
	// ended says that a part of the snapshot, by its key, was read to its end.
	ended(part field)
}

// block is a part of a segment.
type block struct {
	address         uint64
	size, requested int64
	stack           uint32
	state           state
	known           bool // requested is
}

// machine reads a pickle and hands over its records as soon as they are whole, so that none is kept.
type machine struct {
	in     *pickle.Scanner
	to     taker
	known  *known
	memory memory
	stack  []value
	marks  []int
	count  int // of devices whose traces began
	part   value
	spare  []*container
}

func newMachine(in *pickle.Scanner, to taker) *machine {
	return &machine{in: in, to: to, known: newKnown()}
}

// run reads to the end. Check is asked now and then whether to go on. After an error, what came before it was handed over.
func (m *machine) run(check func() error) error {
	var op pickle.Op
	for i := 0; ; i++ {
		if i%eachCheck == 0 {
			if err := check(); err != nil {
				return err
			}
		}
		if err := m.in.Next(&op); err != nil {
			return err
		}
		if op.Code == pickle.Stop {
			return m.stop()
		}
		if err := m.do(&op); err != nil {
			return fmt.Errorf("operation %#02x at byte %d: %w", op.Code, op.At, err)
		}
	}
}

func (m *machine) stop() error {
	if len(m.stack) != 1 || m.stack[0].kind != dict || !m.stack[0].open.holds(fieldSegments) {
		return errors.New("it is no snapshot: no dict with segments")
	}
	m.to.ended(fieldSegments)
	m.to.ended(fieldTraces)
	return nil
}

func (m *machine) do(op *pickle.Op) error {
	switch op.Code {
	case pickle.Proto, pickle.Frame:
		return nil
	case pickle.Int1, pickle.Int2, pickle.Int4, pickle.Long1, pickle.Long4:
		return m.push(value{kind: number, n: op.Number})
	case pickle.Float:
		return m.push(value{kind: number, n: int64(op.Float)})
	case pickle.Text1, pickle.Text4, pickle.Text8, pickle.OldText1, pickle.OldText4:
		return m.pushText(op.Text)
	case pickle.None, pickle.True, pickle.False, pickle.EmptyTuple, pickle.Bytes1, pickle.Bytes4, pickle.Bytes8, pickle.EmptySet:
		return m.push(value{})
	case pickle.EmptyDict, pickle.EmptyList:
		return m.pushOpen(op.Code)
	case pickle.Mark:
		return m.mark()
	case pickle.Memoize, pickle.Put1, pickle.Put4:
		return m.remember(op)
	case pickle.Get1, pickle.Get4:
		return m.push(m.memory.get(op.Number))
	}
	return m.build(op)
}

// build does the operations that take values from the stack.
func (m *machine) build(op *pickle.Op) error {
	switch op.Code {
	case pickle.SetItem:
		return m.setItems(len(m.stack) - 2)
	case pickle.SetItems:
		return m.fromMark(m.setItems)
	case pickle.Append:
		return m.extend(len(m.stack) - 1)
	case pickle.Appends:
		return m.fromMark(m.extend)
	case pickle.Tuple1, pickle.Tuple2, pickle.Tuple3:
		return m.tuple(len(m.stack) - 1 - int(op.Code-pickle.Tuple1))
	case pickle.Tuple, pickle.FrozenSet:
		return m.fromMark(m.tuple)
	case pickle.AddItems, pickle.PopMark:
		return m.fromMark(m.cut)
	case pickle.Pop:
		return m.cut(len(m.stack) - 1)
	case pickle.Global, pickle.Inst:
		return refuse(string(op.Text))
	case pickle.StackGlobal:
		return refuse(m.nameOnStack())
	}
	return errors.New("nothing that a snapshot needs")
}

// refuse is the error for a pickle that asks for code.
func refuse(name string) error {
	return fmt.Errorf("it asks for %.200q, and a snapshot needs no code: refused, nothing of it is run", name)
}

func (m *machine) nameOnStack() string {
	if len(m.stack) < 2 {
		return "?"
	}
	module, name := m.stack[len(m.stack)-2], m.stack[len(m.stack)-1]
	if module.kind != text || name.kind != text {
		return "?"
	}
	return m.known.texts[module.n] + "." + m.known.texts[name.n]
}

func (m *machine) push(v value) error {
	m.forget()
	if len(m.stack) >= mostOpen {
		return fmt.Errorf("more than %d values are open", mostOpen)
	}
	m.stack = append(m.stack, v)
	return nil
}

// forget takes a record off that was handed over and lies in a list, unless it is the last: PyTorch's own pickler adds
// all records of a list at once, millions of them.
func (m *machine) forget() {
	last := len(m.stack) - 1
	if last < 1 || m.stack[last].kind != taken || m.stack[last-1].kind != taken || m.marked() == nil {
		return
	}
	m.stack = m.stack[:last]
}

func (m *machine) pushText(raw []byte) error {
	at, err := m.known.text(raw)
	if err != nil {
		return err
	}
	if len(m.marks) == 1 && m.marks[0] == 1 { // a key of the snapshot itself, as a rule
		m.beginPart(at)
	}
	return m.push(value{kind: text, n: int64(at)})
}

// beginPart notes that the part before is whole.
func (m *machine) beginPart(at uint32) {
	m.endPart()
	m.part = value{kind: text, n: int64(at)}
}

func (m *machine) endPart() {
	if m.part.kind == text && m.part.n < int64(fieldCount) {
		m.to.ended(field(m.part.n)) //nolint:gosec // fewer than fields
	}
	m.part = value{}
}

func (m *machine) mark() error {
	if len(m.marks) >= mostMarks {
		return fmt.Errorf("more than %d marks are set", mostMarks)
	}
	m.marks = append(m.marks, len(m.stack))
	return nil
}

// fromMark takes what was pushed since the last mark.
func (m *machine) fromMark(take func(from int) error) error {
	if len(m.marks) == 0 {
		return errors.New("no mark is set")
	}
	from := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	return take(from)
}

// cut takes the values from there off the stack.
func (m *machine) cut(from int) error {
	least := 0
	if len(m.marks) > 0 {
		least = m.marks[len(m.marks)-1]
	}
	if from < least {
		return errors.New("nothing is on the stack")
	}
	clear(m.stack[from:])
	m.stack = m.stack[:from]
	return nil
}

func (m *machine) tuple(from int) error {
	if err := m.cut(from); err != nil {
		return err
	}
	return m.push(value{})
}

func (m *machine) remember(op *pickle.Op) error {
	if len(m.stack) == 0 {
		return errors.New("nothing is on the stack")
	}
	at := m.memory.count
	if op.Code != pickle.Memoize {
		at = op.Number
	}
	if at > m.in.Read() {
		return fmt.Errorf("number %d to remember by, of fewer values", at)
	}
	m.memory.count = max(m.memory.count, at+1)
	top := &m.stack[len(m.stack)-1]
	if top.open != nil {
		top.open.remembered = at
	}
	m.memory.set(at, *top)
	return nil
}
