package torchfile

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// numpyMagic begins a file of numpy.save.
const numpyMagic = "\x93NUMPY"

// numpyHeader is the text that describes the array. numpy writes its keys in this order.
const numpyHeader = `^\{'descr': '([^']{1,16})', 'fortran_order': (True|False), 'shape': \(([0-9, ]*)\),? *\} *\n$`

func openNumpy(file io.ReaderAt, size int64) (*Tensor, error) {
	header, begin, err := numpyText(file)
	if err != nil {
		return nil, fmt.Errorf("read the header of a file of numpy: %w", err)
	}
	parts := regexp.MustCompile(numpyHeader).FindStringSubmatch(header)
	if parts == nil {
		return nil, fmt.Errorf("the header of a file of numpy is %.200q, which is not read", header)
	}
	t := &Tensor{Dtype: dtypeWith(func(f dtypeFacts) bool { return f.numpy == parts[1] })}
	if t.Dtype == 0 {
		return nil, fmt.Errorf("elements of type %q are not read", parts[1])
	}
	if t.Shape, err = numpyShape(parts[3]); err != nil {
		return nil, err
	}
	t.Stride = denseStride(t.Shape, parts[2] == "True")
	return t.place(file, begin, size-begin)
}

// numpyText is the header, and where it ends.
func numpyText(file io.ReaderAt) (text string, end int64, err error) {
	head := make([]byte, 12)
	if err := readFull(file, head, 0); err != nil {
		return "", 0, err
	}
	length, begin := int64(uint16at(head, 8)), int64(10)
	if version := head[6]; version == 2 || version == 3 {
		length, begin = int64(uint32at(head, 8)), 12
	} else if version != 1 {
		return "", 0, fmt.Errorf("version %d, want 1 to 3", version)
	}
	if length > maxPickleBytes {
		return "", 0, fmt.Errorf("%d bytes, limit %d", length, maxPickleBytes)
	}
	content := make([]byte, length)
	err = readFull(file, content, begin)
	return string(content), begin + length, err
}

func numpyShape(text string) ([]int64, error) {
	shape := []int64{}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("shape (%s): %w", text, err)
		}
		if shape = append(shape, n); len(shape) > maxDimensions {
			return nil, errors.New("too many dimensions")
		}
	}
	return shape, nil
}

// denseStride is the stride of elements without gaps, the first dimension varying fastest or the last.
func denseStride(shape []int64, firstFastest bool) []int64 { //nolint:revive // the flag is the file's own
	stride := make([]int64, len(shape))
	step := int64(1)
	for i := range shape {
		at := len(shape) - 1 - i
		if firstFastest {
			at = i
		}
		stride[at] = step
		if shape[at] > 0 && step <= 1<<50/shape[at] {
			step *= shape[at]
		}
	}
	return stride
}
