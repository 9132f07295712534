package requests

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/internal/pickle"
)

// protocolMark is the first byte of a pickle of protocol 2 or later.
const protocolMark = pickle.Proto

// errHostile is the cause when a pickle asks for what no data need.
var errHostile = errors.New("it is refused: no dump of requests needs that, and whoever unpickles it runs it")

// Values of a pickle are nil, bool, int64, float64, string or one of these.
type (
	tuple  []any
	list   struct{ items []any }
	dict   struct{ items []any } // keys and values in turn
	class  string                // or function, by its name
	object struct {              // of a class that is a name here, and nothing more
		class class
		state any
	}
	mark struct{}
)

// mostValues bounds the memory of a pickle whose few bytes ask for much.
const mostValues = 1 << 24

// machine runs one pickle, in which no class is more than its name.
type machine struct {
	stack  []any
	memo   map[int64]any
	values int
}

// unpickle returns what the pickle leaves, and of a damaged one what lay ready, beside the error.
func unpickle(text []byte) ([]any, error) {
	m := &machine{memo: map[int64]any{}}
	scanner := pickle.NewScanner(bytes.NewReader(text))
	for {
		var op pickle.Op
		if err := scanner.Next(&op); err != nil {
			return m.stack, err
		}
		if op.Code == pickle.Stop {
			return m.stack, nil
		}
		if err := m.do(&op); err != nil {
			return m.stack, fmt.Errorf("operation %#02x at byte %d: %w", op.Code, op.At, err)
		}
		if m.values++; m.values > mostValues {
			return m.stack, fmt.Errorf("more than %d values", mostValues)
		}
	}
}

func (m *machine) push(value any) { m.stack = append(m.stack, value) }

func (m *machine) pop() (any, error) {
	if len(m.stack) == 0 {
		return nil, errors.New("nothing is on the stack")
	}
	value := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return value, nil
}

func (m *machine) popMany(n int) ([]any, error) {
	if len(m.stack) < n {
		return nil, errors.New("too little is on the stack")
	}
	values := append([]any(nil), m.stack[len(m.stack)-n:]...)
	m.stack = m.stack[:len(m.stack)-n]
	return values, nil
}

// popMark returns the values since the last mark.
func (m *machine) popMark() ([]any, error) {
	for i, value := range slices.Backward(m.stack) {
		if _, is := value.(mark); is {
			values := append([]any(nil), m.stack[i+1:]...)
			m.stack = m.stack[:i]
			return values, nil
		}
	}
	return nil, errors.New("no mark is set")
}

func (m *machine) do(op *pickle.Op) error {
	for _, group := range []func(*pickle.Op) (bool, error){m.constant, m.sequence, m.change, m.remember, m.named} {
		if done, err := group(op); done || err != nil {
			return err
		}
	}
	return errors.New("it is not known")
}

func (m *machine) constant(op *pickle.Op) (bool, error) {
	switch op.Code {
	case pickle.Proto, pickle.Frame:
	case pickle.None:
		m.push(nil)
	case pickle.True, pickle.False:
		m.push(op.Code == pickle.True)
	case pickle.Int1, pickle.Int2, pickle.Int4, pickle.Long1, pickle.Long4:
		m.push(op.Number)
	case pickle.Float:
		m.push(op.Float)
	case pickle.Text1, pickle.Text4, pickle.Text8, pickle.Bytes1, pickle.Bytes4, pickle.Bytes8, pickle.OldText1, pickle.OldText4:
		m.push(string(op.Text))
	default:
		return false, nil
	}
	return true, nil
}

func (m *machine) sequence(op *pickle.Op) (bool, error) {
	var err error
	var values []any
	switch op.Code {
	case pickle.Mark:
		m.push(mark{})
	case pickle.EmptyTuple:
		m.push(tuple(nil))
	case pickle.EmptyDict:
		m.push(&dict{})
	case pickle.EmptyList, pickle.EmptySet:
		m.push(&list{})
	case pickle.Tuple1, pickle.Tuple2, pickle.Tuple3:
		values, err = m.popMany(int(op.Code) - pickle.Tuple1 + 1)
		m.push(tuple(values))
	case pickle.Tuple:
		values, err = m.popMark()
		m.push(tuple(values))
	case pickle.FrozenSet:
		values, err = m.popMark()
		m.push(&list{values})
	default:
		return false, nil
	}
	return true, err
}

// change adds to a list or dict that lies below.
func (m *machine) change(op *pickle.Op) (bool, error) {
	var err error
	var values []any
	switch op.Code {
	case pickle.Append:
		values, err = m.popMany(1)
	case pickle.SetItem:
		values, err = m.popMany(2)
	case pickle.Appends, pickle.SetItems, pickle.AddItems:
		values, err = m.popMark()
	case pickle.Pop:
		_, err = m.pop()
		return true, err
	case pickle.PopMark:
		_, err = m.popMark()
		return true, err
	default:
		return false, nil
	}
	if err != nil || len(m.stack) == 0 {
		return true, errors.Join(err, errors.New("there is nothing to add to"))
	}
	switch to := m.stack[len(m.stack)-1].(type) {
	case *list:
		to.items = append(to.items, values...)
	case *dict:
		to.items = append(to.items, values...)
	case *object: // of a class that is like a list or dict
	default:
		m.stack = append(m.stack, values...) // for whoever looks at what lay ready
		return true, errors.New("what it adds to is no list or dict")
	}
	return true, nil
}

func (m *machine) remember(op *pickle.Op) (bool, error) {
	switch op.Code {
	case pickle.Put1, pickle.Put4, pickle.Memoize, pickle.Dup:
		if len(m.stack) == 0 {
			return true, errors.New("nothing is on the stack")
		}
		top := m.stack[len(m.stack)-1]
		switch op.Code {
		case pickle.Dup:
			m.push(top)
		case pickle.Memoize:
			m.memo[int64(len(m.memo))] = top
		default:
			m.memo[op.Number] = top
		}
	case pickle.Get1, pickle.Get4:
		value, known := m.memo[op.Number]
		if !known {
			return true, fmt.Errorf("nothing is remembered as %d", op.Number)
		}
		m.push(value)
	default:
		return false, nil
	}
	return true, nil
}

// named makes objects of classes, which stay names, and of calls, which are not made.
func (m *machine) named(op *pickle.Op) (bool, error) {
	switch op.Code {
	case pickle.Global:
		return true, m.pushClass(string(op.Text))
	case pickle.StackGlobal:
		names, err := m.popMany(2)
		if err != nil {
			return true, err
		}
		return true, m.pushClass(fmt.Sprintf("%v.%v", names[0], names[1]))
	case pickle.Inst:
		if _, err := m.popMark(); err != nil {
			return true, err
		}
		return true, errors.Join(m.pushClass(string(op.Text)), m.make(0))
	case pickle.Reduce, pickle.NewObj:
		return true, m.make(1)
	case pickle.NewObjEx:
		return true, m.make(2)
	case pickle.Obj:
		values, err := m.popMark()
		if err == nil && len(values) == 0 {
			err = errors.New("an object of no class")
		}
		if err != nil {
			return true, err
		}
		m.push(values[0])
		return true, m.make(0)
	case pickle.Persistent:
		_, err := m.pop()
		m.push(&object{class: "persistent"})
		return true, err
	case pickle.Build:
		return true, m.build()
	}
	return false, nil
}

func (m *machine) pushClass(name string) error {
	if module, _, _ := strings.Cut(name, "."); isHostile(module, name) {
		return fmt.Errorf("it asks for %.100s: %w", valid(name), errHostile)
	}
	m.push(class(name))
	return nil
}

// isHostile says whether no data need the function: those that run programs or code, or get hold of any other function.
func isHostile(module, name string) bool {
	switch module {
	case "os", "posix", "nt", "subprocess", "sys", "shutil", "socket", "importlib", "runpy", "pty", "ctypes", "code", "codeop",
		"pickle", "_pickle", "marshal", "webbrowser", "operator", "_operator", "multiprocessing", "threading", "asyncio", "pdb", "timeit", "commands", "tempfile", "pathlib", "io", "_io":
		return !strings.HasPrefix(name, "pathlib.P")
	case "builtins", "__builtin__":
		_, function, _ := strings.Cut(name, ".")
		return !strings.Contains(" set frozenset list dict tuple bytearray complex slice range int float str bytes bool object type ", " "+function+" ")
	}
	return strings.HasPrefix(name, "torch.hub.") || strings.HasSuffix(name, ".system") || strings.HasSuffix(name, ".__import__")
}

// make replaces a class and its arguments by an object.
func (m *machine) make(arguments int) error {
	values, err := m.popMany(arguments + 1)
	if err != nil {
		return err
	}
	of, ok := values[0].(class)
	if !ok {
		return errors.New("a call of what is no class or function")
	}
	m.push(&object{class: of})
	return nil
}

// build gives an object its attributes.
func (m *machine) build() error {
	state, err := m.pop()
	if err != nil || len(m.stack) == 0 {
		return errors.Join(err, errors.New("there is no object to build"))
	}
	if of, ok := m.stack[len(m.stack)-1].(*object); ok {
		of.state = state
	}
	return nil
}
