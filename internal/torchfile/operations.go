package torchfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

func (m *machine) constant(op byte) error {
	switch op {
	case opProto:
		version, err := m.in.byte()
		if err == nil && (version < 2 || version > 5) {
			err = fmt.Errorf("protocol %d, want 2 to 5", version)
		}
		return err
	case opFrame:
		_, err := m.in.number(8) // the frame's bytes, which follow in any case
		return err
	case opNone:
		return m.push(nil)
	case opTrue, opFalse:
		return m.push(op == opTrue)
	case opInt1:
		return m.integer(1)
	case opInt2:
		return m.integer(2)
	case opInt4:
		return m.integer(4)
	case opLong1:
		return m.long()
	case opFloat:
		return m.float()
	}
	return errUnknown
}

// float pushes a number of 8 bytes, the only big-endian one.
func (m *machine) float() error {
	text, err := m.in.take(8)
	if err != nil {
		return err
	}
	return m.push(math.Float64frombits(binary.BigEndian.Uint64(text)))
}

// integer pushes a number; only numbers of 4 bytes have a sign.
func (m *machine) integer(bytes uint64) error {
	n, err := m.in.number(bytes)
	if err != nil {
		return err
	}
	if bytes == 4 {
		return m.push(int64(int32(n))) //nolint:gosec // these are its 32 bits
	}
	return m.push(int64(n)) //nolint:gosec // it has 2 bytes
}

// long pushes an integer in two's complement of any length.
func (m *machine) long() error {
	text, err := m.in.sized(1)
	if err != nil || len(text) > 8 {
		return errors.Join(err, m.push(long(text)))
	}
	var n int64
	for i := range len(text) {
		n |= int64(text[i]) << (8 * i)
	}
	unused := 64 - 8*len(text)
	return m.push(n << unused >> unused)
}

func (m *machine) text(op byte) error {
	var size uint64
	switch op {
	case opText1:
		size = 1
	case opText4:
		size = 4
	default:
		return errUnknown
	}
	text, err := m.in.sized(size)
	if err != nil {
		return err
	}
	return m.push(text)
}

func (m *machine) tuple(op byte) error {
	switch op {
	case opMark:
		m.marks = append(m.marks, len(m.stack))
		return nil
	case opEmptyTuple:
		return m.push(tuple(nil))
	case opTuple1, opTuple2, opTuple3:
		values, err := m.popMany(int(op) - opTuple1 + 1)
		return errors.Join(err, m.push(tuple(values)))
	case opTuple:
		values, err := m.popMark()
		return errors.Join(err, m.push(tuple(values)))
	}
	return errUnknown
}

func (m *machine) container(op byte) error {
	switch op {
	case opEmptyDict:
		return m.push(&dict{})
	case opEmptyList:
		return m.push(&list{})
	case opAppend:
		values, err := m.popMany(1)
		return m.extend(values, err)
	case opAppends:
		values, err := m.popMark()
		return m.extend(values, err)
	case opSetItem:
		values, err := m.popMany(2)
		return m.setItems(values, err)
	case opSetItems:
		values, err := m.popMark()
		return m.setItems(values, err)
	}
	return errUnknown
}

// top is the last value, which stays.
func (m *machine) top() (any, error) {
	value, err := m.pop()
	if err != nil {
		return nil, err
	}
	return value, m.push(value)
}

func (m *machine) extend(values []any, err error) error {
	if err != nil {
		return err
	}
	value, err := m.top()
	to, ok := value.(*list)
	if err != nil || !ok {
		return errors.Join(err, fmt.Errorf("append to %s", kindOf(value)))
	}
	to.items = append(to.items, values...)
	return nil
}

func (m *machine) setItems(values []any, err error) error {
	if err != nil {
		return err
	}
	value, err := m.top()
	to, ok := value.(*dict)
	if err != nil || !ok || len(values)%2 != 0 {
		return errors.Join(err, fmt.Errorf("set %d keys and values in %s", len(values), kindOf(value)))
	}
	to.items = append(to.items, values...)
	return nil
}

func (m *machine) remember(op byte) error {
	switch op {
	case opPut1:
		return m.put(1)
	case opPut4:
		return m.put(4)
	case opMemoize:
		value, err := m.top()
		m.memo[uint64(len(m.memo))] = value
		return err
	case opGet1:
		return m.get(1)
	case opGet4:
		return m.get(4)
	}
	return errUnknown
}

func (m *machine) put(bytes uint64) error {
	n, err := m.in.number(bytes)
	if err != nil {
		return err
	}
	m.memo[n], err = m.top()
	return err
}

func (m *machine) get(bytes uint64) error {
	n, err := m.in.number(bytes)
	if err != nil {
		return err
	}
	value, ok := m.memo[n]
	if !ok {
		return fmt.Errorf("nothing is remembered as %d", n)
	}
	return m.push(value)
}

func (m *machine) object(op byte) error {
	switch op {
	case opGlobal:
		module, err := m.in.line()
		if err != nil {
			return err
		}
		name, err := m.in.line()
		return m.pushGlobal(module, name, err)
	case opStackName:
		values, err := m.popMany(2)
		if err != nil {
			return err
		}
		module, isText := values[0].(string)
		name, isTextToo := values[1].(string)
		if !isText || !isTextToo {
			err = errors.New("a name that is no text")
		}
		return m.pushGlobal(module, name, err)
	case opPersistent:
		value, err := m.pop()
		if err != nil {
			return err
		}
		storage, err := newStorage(value)
		return errors.Join(err, m.push(storage))
	case opReduce:
		values, err := m.popMany(2)
		if err != nil {
			return err
		}
		value, err := call(values[0], values[1])
		return errors.Join(err, m.push(value))
	case opBuild:
		return m.build()
	}
	return errUnknown
}

// build drops the attributes of a dict, as that of a module's parameters has. They change no item.
func (m *machine) build() error {
	if _, err := m.pop(); err != nil {
		return err
	}
	value, err := m.top()
	if _, ok := value.(*dict); err == nil && !ok {
		err = fmt.Errorf("attributes of %s: nothing that a tensor needs", kindOf(value))
	}
	return err
}

func (m *machine) pushGlobal(module, name string, err error) error {
	if err != nil {
		return err
	}
	global, err := findGlobal(module, name)
	if err != nil {
		return err
	}
	return m.push(global)
}
