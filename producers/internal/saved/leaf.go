package saved

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/internal/torchfile"
	"github.com/tensortap/tensortap/schemas"
)

// leaf is a tensor, or another value, at its place in the saved value.
type leaf struct {
	path   string
	tensor *torchfile.Tensor // nil when it is none
	layout schemas.LayoutRow // without its id
	number float64
	isText bool // no number
}

// maxText bounds the text of the values in one file.
const maxText = 1 << 20

// leaves takes lists and dicts apart.
type leaves struct {
	list []leaf
	dims string
	text int
}

func (l *leaves) add(path string, value any) error {
	switch v := value.(type) {
	case torchfile.List:
		return l.addList(path, v)
	case torchfile.Dict:
		return l.addDict(path, v)
	case *torchfile.Tensor:
		return l.keep(leaf{path: path, tensor: v, isText: true, layout: schemas.LayoutRow{
			Kind: "tensor", Dtype: "torch." + v.Dtype.String(), Shape: v.Shape, Placement: l.dims,
		}})
	}
	return l.keep(plain(path, value))
}

func (l *leaves) addList(path string, list torchfile.List) error {
	for i, item := range list {
		if err := l.add(under(path, strconv.Itoa(i)), item); err != nil {
			return err
		}
	}
	return nil
}

func (l *leaves) addDict(path string, dict torchfile.Dict) error {
	for _, item := range dict {
		if err := l.add(under(path, strings.ToValidUTF8(fmt.Sprint(item.Key), "?")), item.Value); err != nil {
			return err
		}
	}
	return nil
}

func under(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// keep adds a leaf. A file may name one text many times, so that it is far more than the file.
func (l *leaves) keep(one leaf) error {
	l.text += len(one.path) + len(one.layout.Literal)
	if l.text > maxText {
		return errors.New("it has more than 1 MiB of text")
	}
	l.list = append(l.list, one)
	return nil
}

// plain is a value that is no tensor.
func plain(path string, value any) leaf {
	one := leaf{path: path, layout: schemas.LayoutRow{Kind: "other", Literal: fmt.Sprint(value)}}
	switch v := value.(type) {
	case nil:
		one.layout = schemas.LayoutRow{Kind: "none"}
		one.isText = true
	case bool:
		one.layout.Kind, one.layout.Literal = "bool", map[bool]string{true: "True", false: "False"}[v]
		one.isText = true
	case int64:
		one.layout.Kind, one.number = "int", float64(v)
	case float64:
		one.layout.Kind, one.number = "float", v
	case torchfile.Number:
		one.layout.Kind, one.isText = "int", true
	case torchfile.DtypeName:
		one.layout.Kind, one.isText = "dtype", true
	default:
		one.layout.Kind, one.isText = "str", true
		one.layout.Literal = strings.ToValidUTF8(one.layout.Literal, "?")
	}
	return one
}
