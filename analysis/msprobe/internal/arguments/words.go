package arguments

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/schemas"
)

const (
	none          = "None"
	notApplicable = "N/A"
	boolClass     = "<class 'bool'>"
)

// words are what msProbe prints of a layout.
type words struct {
	isTensor                            bool
	dtype, shape, grad, value, checksum string
	number                              Number // that the value is
}

// newWords are those of a layout; of one that is not known all are empty.
func newWords(l *schemas.LayoutRow) *words {
	if l == nil {
		return &words{}
	}
	printed := printedLiteral(l)
	w := &words{
		isTensor: l.Kind == "tensor", dtype: dtypeOf(l), shape: shapeOf(l, printed), grad: gradOf(l),
		value: valueOf(l, printed), checksum: checksumOfValue(l, printed),
	}
	if !w.isTensor && w.dtype != boolClass {
		w.number = numberOf(w.value)
	}
	return w
}

// printedLiteral is what Python prints of a value.
func printedLiteral(l *schemas.LayoutRow) string {
	switch l.Kind {
	case "bool":
		if strings.EqualFold(l.Literal, "true") {
			return "True"
		}
		return "False"
	case "int", "float":
		return printedNumber(l.Literal)
	case "size", "slice":
		return printedList(l.Literal)
	case "group":
		return printedList(groupRanks(l.Literal))
	}
	return l.Literal
}

func printedNumber(literal string) string {
	switch literal {
	case "NaN":
		return "nan"
	case "Infinity":
		return "inf"
	case "-Infinity":
		return "-inf"
	}
	return literal
}

// printedList has a blank after each comma.
func printedList(literal string) string {
	text := strings.ReplaceAll(literal, "null", none)
	return strings.ReplaceAll(strings.ReplaceAll(text, ", ", ","), ",", ", ")
}

// groupRanks are the ranks of a process group, as JSON; empty where it does not name them.
func groupRanks(literal string) string {
	var group struct {
		Ranks json.RawMessage `json:"group_ranks"`
	}
	var compact bytes.Buffer
	if json.Unmarshal([]byte(literal), &group) != nil || len(group.Ranks) == 0 || json.Compact(&compact, group.Ranks) != nil {
		return ""
	}
	return compact.String()
}

func dtypeOf(l *schemas.LayoutRow) string {
	switch l.Kind {
	case "tensor":
		return l.Dtype
	case "none":
		return notApplicable
	case "size":
		return "torch.Size"
	case "slice":
		return "slice"
	case "group":
		return "torch.ProcessGroup"
	case "int", "float", "bool", "str":
		return "<class '" + l.Kind + "'>"
	}
	switch l.Dtype {
	case "ellipsis":
		return "ellipsis"
	case memoryFormat:
		return "<class 'NoneType'>"
	}
	return "<class 'str'>"
}

// memoryFormat is a type whose values msProbe does not print.
const memoryFormat = "torch.memory_format"

func shapeOf(l *schemas.LayoutRow, printed string) string {
	switch l.Kind {
	case "tensor":
		sizes := make([]string, len(l.Shape))
		for i, size := range l.Shape {
			sizes[i] = strconv.FormatInt(size, 10)
		}
		return "[" + strings.Join(sizes, ", ") + "]"
	case "none":
		return notApplicable
	case "size":
		return printed
	case "slice":
		return "(3,)"
	}
	return "[]"
}

func gradOf(l *schemas.LayoutRow) string {
	switch {
	case l.RequiresGrad == nil:
		return notApplicable
	case *l.RequiresGrad == 1:
		return "True"
	}
	return "False"
}

func valueOf(l *schemas.LayoutRow, printed string) string {
	switch {
	case l.Kind == "tensor":
		return ""
	case l.Kind == "none", l.Kind == "size", l.Kind == "slice", l.Dtype == memoryFormat:
		return none
	}
	return printed
}

// checksumOfValue is that of an argument that is no tensor.
func checksumOfValue(l *schemas.LayoutRow, printed string) string {
	switch {
	case l.Kind == "tensor":
		return ""
	case l.Kind == "none":
		return notApplicable
	case l.Kind == "group":
		return printed
	case l.Dtype == memoryFormat:
		return "00000000"
	}
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(printed)))
}

// numberOf is the number that a text is, as Python writes one.
func numberOf(text string) Number {
	switch strings.ToLower(strings.TrimLeft(text, "+-")) {
	case "nan":
		return Number{math.NaN(), true}
	case "inf", "infinity":
	default:
		if strings.Trim(text, "+-.0123456789eE") != "" {
			return Number{} // also what Go takes for a number, such as 0x10 and 1_000
		}
	}
	v, err := strconv.ParseFloat(text, 64) // of what is beyond all numbers, it is infinity
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return Number{}
	}
	return Number{v, true}
}
