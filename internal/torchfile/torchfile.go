// Package torchfile reads the tensors in files of torch.save, numpy.save and safetensors.
//
// A pickle is a program, and a file may be hostile. Here an interpreter reads it that knows the few
// operations a tensor needs, calls nothing and loads no code: any other request of a pickle is an
// error. Memory and time are bounded by the file's size and by the limits below, not by the file's
// own figures.
package torchfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Limits on the size of files and tensors.
const (
	maxPickleBytes    = 1 << 20   // a tensor takes some hundred
	maxDirectoryBytes = 1 << 20   // the list of an archive's members, some hundred too
	maxDimensions     = 64        // torch itself has that limit
	maxRepeated       = 1 << 31   // elements of a tensor that shows stored elements more than once
	maxSpanBytes      = 512 << 20 // of a tensor in another order than its elements lie in the file
)

// Tensor is the description of a file's tensor. Elements are read on demand.
type Tensor struct {
	Dtype  Dtype
	Shape  []int64
	Stride []int64 // elements from one index to the next, per dimension
	Offset int64   // elements before the first one
	Count  int64   // elements in all

	storage *io.SectionReader
}

// Open finds the tensor in a file of that size, which is read again for the elements. Where a dict was saved, as SGLang's
// dumper does, the tensor is its "value".
func Open(file io.ReaderAt, size int64) (*Tensor, error) {
	head := make([]byte, min(size, 9))
	if _, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read its first bytes: %w", err)
	}
	switch {
	case isSafetensors(head):
		return openSafetensors(file, size)
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return openArchive(file, size)
	case bytes.HasPrefix(head, []byte(numpyMagic)):
		return openNumpy(file, size)
	case len(head) > 1 && head[0] == opProto:
		return openLegacy(file, size)
	}
	return nil, fmt.Errorf("begins with % x: neither a file of torch.save nor of numpy.save nor of safetensors", head)
}

// place checks the layout against the stored bytes and binds the tensor to them.
func (t *Tensor) place(file io.ReaderAt, at, size int64) (*Tensor, error) {
	stored := size / t.Dtype.Size()
	if err := t.check(stored); err != nil {
		return nil, fmt.Errorf("tensor of %s with shape %v, stride %v, offset %d in %d stored elements: %w",
			t.Dtype, t.Shape, t.Stride, t.Offset, stored, err)
	}
	t.storage = io.NewSectionReader(file, at, size)
	return t, nil
}

func (t *Tensor) check(stored int64) error {
	if len(t.Shape) != len(t.Stride) || len(t.Shape) > maxDimensions {
		return fmt.Errorf("%d dimensions and %d strides, limit %d", len(t.Shape), len(t.Stride), maxDimensions)
	}
	count, last, err := extent(t.Shape, t.Stride, t.Offset)
	if err != nil {
		return err
	}
	if count > 0 && last >= stored {
		return fmt.Errorf("its last element would be number %d", last)
	}
	if count > max(stored, maxRepeated) {
		return fmt.Errorf("%d elements, limit of those that repeat is %d", count, maxRepeated)
	}
	t.Count = count
	return nil
}

// extent is the number of elements and the place of the last one.
func extent(shape, stride []int64, offset int64) (count, last int64, err error) {
	count, last = 1, offset
	if offset < 0 {
		return 0, 0, errors.New("negative offset")
	}
	const most = 1 << 50 // so that no product below overflows
	for i, n := range shape {
		if n < 0 || stride[i] < 0 {
			return 0, 0, errors.New("negative size or stride")
		}
		if n > most || stride[i] > most {
			return 0, 0, fmt.Errorf("size or stride above %d", int64(most))
		}
		if n == 0 {
			count = 0
		}
		if count > 0 && (count > most/n || n-1 > (most-min(last, most))/max(stride[i], 1)) {
			return 0, 0, fmt.Errorf("more than %d elements", int64(most))
		}
		count, last = count*n, last+max(n-1, 0)*stride[i]
		if count == 0 {
			last = 0
		}
	}
	return count, last, nil
}

// Squeezed is the tensor without its dimensions of size 1.
func (t *Tensor) Squeezed() *Tensor {
	squeezed := *t
	squeezed.Shape, squeezed.Stride = nil, nil
	for i, n := range t.Shape {
		if n != 1 {
			squeezed.Shape, squeezed.Stride = append(squeezed.Shape, n), append(squeezed.Stride, t.Stride[i])
		}
	}
	return &squeezed
}

// Permuted is the tensor with its dimensions in that order.
func (t *Tensor) Permuted(order []int) *Tensor {
	permuted := *t
	permuted.Shape, permuted.Stride = make([]int64, len(order)), make([]int64, len(order))
	for to, from := range order {
		permuted.Shape[to], permuted.Stride[to] = t.Shape[from], t.Stride[from]
	}
	return &permuted
}

// Part is the elements with indices from, and before to, of each dimension. The caller keeps both within the shape.
func (t *Tensor) Part(from, to []int64) *Tensor {
	part := *t
	part.Shape, part.Count = make([]int64, len(t.Shape)), 1
	for i := range t.Shape {
		part.Shape[i] = to[i] - from[i]
		part.Offset += from[i] * t.Stride[i]
		part.Count *= part.Shape[i]
	}
	return &part
}
