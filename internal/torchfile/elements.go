package torchfile

import (
	"fmt"
	"io"
	"slices"
)

// Elements gives the bytes of a tensor's elements in row-major order, piece by piece. Elements in
// that order in the file need no memory; for others, their span of the file is held, up to a limit.
type Elements struct {
	t    *Tensor
	next int64 // element

	dense bool
	span  []byte  // of a tensor that is not dense
	index []int64 // of the next element
	at    int64   // where that lies in the span, in elements
}

// Elements begins at the first one.
func (t *Tensor) Elements() (*Elements, error) {
	e := &Elements{t: t, dense: t.Dense(), index: make([]int64, len(t.Shape))}
	if e.dense || t.Count == 0 {
		return e, nil
	}
	_, last, err := extent(t.Shape, t.Stride, 0)
	if err != nil {
		return nil, err
	}
	bytes := (last + 1) * t.Dtype.Size()
	if bytes > maxSpanBytes {
		return nil, fmt.Errorf("its elements lie in another order, over %d bytes, limit %d", bytes, maxSpanBytes)
	}
	e.span = make([]byte, bytes)
	if err := readFull(t.storage, e.span, t.Offset*t.Dtype.Size()); err != nil {
		return nil, fmt.Errorf("read %d bytes of elements: %w", bytes, err)
	}
	return e, nil
}

// Dense says whether the elements lie in row-major order without gaps.
func (t *Tensor) Dense() bool {
	step := int64(1)
	for i, n := range slices.Backward(t.Shape) {
		if n == 0 {
			return true
		}
		if n != 1 && t.Stride[i] != step {
			return false
		}
		step *= n
	}
	return true
}

// Read fills to with whole elements and returns how many; at the end none, and io.EOF.
func (e *Elements) Read(to []byte) (int64, error) {
	size := e.t.Dtype.Size()
	n := min(int64(len(to))/size, e.t.Count-e.next)
	if n == 0 {
		return 0, io.EOF
	}
	if !e.dense {
		e.gather(to, n)
		return n, nil
	}
	if err := readFull(e.t.storage, to[:n*size], (e.t.Offset+e.next)*size); err != nil {
		return 0, fmt.Errorf("read %d elements behind %d of %d: %w", n, e.next, e.t.Count, err)
	}
	e.next += n
	return n, nil
}

// gather copies the next n elements.
func (e *Elements) gather(to []byte, n int64) {
	size := e.t.Dtype.Size()
	for i := range n {
		copy(to[i*size:(i+1)*size], e.span[e.at*size:])
		e.advance()
	}
	e.next += n
}

// advance goes to the next element, the last index first.
func (e *Elements) advance() {
	for i, n := range slices.Backward(e.t.Shape) {
		e.index[i]++
		e.at += e.t.Stride[i]
		if e.index[i] < n {
			return
		}
		e.at -= n * e.t.Stride[i]
		e.index[i] = 0
	}
}
