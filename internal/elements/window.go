package elements

import (
	"fmt"
	"strconv"
	"strings"
)

// Window is a part of a tensor with two axes at most, which a picture has.
type Window struct {
	From, To []int64 // indices of each axis: from, and before
	ranged   []bool  // of each axis, whether the picture has it; one with an index is not
}

// ParseWindow reads a part as a program writes it: an index or a range for each axis, as 3,0:512,: for two axes at index 3
// of the first. Without a text it is the whole of the last two axes, at index 0 of all others.
func ParseWindow(text string, shape []int64) (Window, error) {
	w := Window{From: make([]int64, len(shape)), To: make([]int64, len(shape)), ranged: make([]bool, len(shape))}
	parts := lastTwo(shape)
	if text != "" {
		parts = strings.Split(text, ",")
	}
	if len(parts) != len(shape) {
		return w, fmt.Errorf("it has %d parts, and the tensor of shape %v has %d axes", len(parts), shape, len(shape))
	}
	for axis, part := range parts {
		if err := w.axis(axis, strings.TrimSpace(part), shape[axis]); err != nil {
			return w, fmt.Errorf("axis %d: %w", axis, err)
		}
	}
	if len(w.Axes()) > 2 {
		return w, fmt.Errorf("it has ranges for %d axes, a picture has two: give an index for the others", len(w.Axes()))
	}
	return w, nil
}

// lastTwo are the parts that nobody gave.
func lastTwo(shape []int64) []string {
	parts := make([]string, len(shape))
	for axis := range parts {
		parts[axis] = "0"
		if axis >= len(shape)-2 {
			parts[axis] = ":"
		}
	}
	return parts
}

func (w *Window) axis(axis int, part string, size int64) (err error) {
	first, last, ranged := strings.Cut(part, ":")
	w.ranged[axis] = ranged
	if !ranged {
		w.From[axis], err = bound(part, 0, max(size-1, 0)) // an axis without elements has index 0, which holds nothing
		w.To[axis] = min(w.From[axis]+1, size)
		return err
	}
	if first == "" {
		first = "0"
	}
	if last == "" {
		last = strconv.FormatInt(size, 10)
	}
	if w.From[axis], err = bound(first, 0, size); err == nil {
		w.To[axis], err = bound(last, w.From[axis], size)
	}
	return err
}

func bound(text string, least, most int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q: want a whole number from %d to %d", text, least, most)
	}
	return n, nil
}

// Axes are those of the picture: rows and columns, columns alone, or none.
func (w *Window) Axes() (axes []int) {
	for axis, ranged := range w.ranged {
		if ranged {
			axes = append(axes, axis)
		}
	}
	return axes
}

// Count is how many elements it has.
func (w *Window) Count() int64 {
	n := int64(1)
	for axis := range w.From {
		n *= w.To[axis] - w.From[axis]
	}
	return n
}

// String is the window as ParseWindow reads it.
func (w *Window) String() string {
	parts := make([]string, len(w.From))
	for axis := range parts {
		parts[axis] = strconv.FormatInt(w.From[axis], 10)
		if w.ranged[axis] {
			parts[axis] += ":" + strconv.FormatInt(w.To[axis], 10)
		}
	}
	return strings.Join(parts, ",")
}
