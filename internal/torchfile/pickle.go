package torchfile

import (
	"errors"
	"fmt"
)

// Operations of a pickle that a tensor needs. All others are refused.
const (
	opProto      = 0x80
	opFrame      = 0x95
	opStop       = '.'
	opMark       = '('
	opNone       = 'N'
	opTrue       = 0x88
	opFalse      = 0x89
	opInt4       = 'J'
	opInt1       = 'K'
	opInt2       = 'M'
	opLong1      = 0x8a
	opFloat      = 'G'
	opText4      = 'X'
	opText1      = 0x8c
	opEmptyTuple = ')'
	opTuple      = 't'
	opTuple1     = 0x85
	opTuple2     = 0x86
	opTuple3     = 0x87
	opEmptyDict  = '}'
	opEmptyList  = ']'
	opAppend     = 'a'
	opAppends    = 'e'
	opSetItem    = 's'
	opSetItems   = 'u'
	opPut1       = 'q'
	opPut4       = 'r'
	opMemoize    = 0x94
	opGet1       = 'h'
	opGet4       = 'j'
	opGlobal     = 'c'
	opStackName  = 0x93
	opPersistent = 'Q'
	opReduce     = 'R'
	opBuild      = 'b'
)

// Values of a pickle are nil, bool, int64, float64, string or one of these. None refers to a later
// one, and none is ever walked through in depth, so that shared parts cost nothing.
type (
	tuple []any
	// list is changed in place.
	list struct{ items []any }
	// dict has keys and values in turn.
	dict struct{ items []any }
	// long is an integer of more than 64 bits, as it is written.
	long string
)

// machine runs one pickle.
type machine struct {
	in    *input
	stack []any
	marks []int
	memo  map[uint64]any
}

// run reads the pickle up to its end and returns the value it leaves.
func (m *machine) run() (any, error) {
	m.memo = map[uint64]any{}
	for {
		op, err := m.in.byte()
		if err != nil {
			return nil, err
		}
		if op == opStop {
			return m.pop()
		}
		at := m.in.read - 1
		if err := m.do(op); err != nil {
			return nil, fmt.Errorf("operation %#02x at byte %d: %w", op, at, err)
		}
	}
}

// errUnknown is returned by those that do some operations for one of the others.
var errUnknown = errors.New("nothing that a tensor needs")

// do tries the groups of operations one after the other.
func (m *machine) do(op byte) error {
	for _, group := range []func(byte) error{m.constant, m.text, m.tuple, m.container, m.remember, m.object} {
		if err := group(op); !errors.Is(err, errUnknown) {
			return err
		}
	}
	return errUnknown
}

func (m *machine) push(value any) error {
	m.stack = append(m.stack, value)
	return nil
}

func (m *machine) pop() (any, error) {
	least := 0
	if len(m.marks) > 0 {
		least = m.marks[len(m.marks)-1]
	}
	if len(m.stack) <= least {
		return nil, errors.New("nothing is on the stack")
	}
	value := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return value, nil
}

// popMany is the last n values.
func (m *machine) popMany(n int) ([]any, error) {
	values := make([]any, n)
	for i := range values {
		var err error
		if values[n-1-i], err = m.pop(); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// popMark returns the values pushed since the last mark.
func (m *machine) popMark() ([]any, error) {
	if len(m.marks) == 0 {
		return nil, errors.New("no mark is set")
	}
	mark := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	values := append([]any(nil), m.stack[mark:]...)
	m.stack = m.stack[:mark]
	return values, nil
}

// kindOf names a value in an error, without its content.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "nothing"
	case tuple:
		return "a tuple"
	case *list:
		return "a list"
	case *dict:
		return "a dict"
	case string:
		return "a text"
	case int64, long, float64:
		return "a number"
	case bool:
		return "a truth value"
	case *storage:
		return "a storage"
	case *described:
		return "a tensor"
	}
	return "a class or function"
}
