package torchfile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// maxHeaderBytes bounds the header of a file of safetensors; one tensor takes some hundred.
const maxHeaderBytes = 1 << 20

// metadataName is the format's key for texts about the file, in the place of a tensor's name.
const metadataName = "__metadata__"

// safetensorsEntry is one tensor in the header.
type safetensorsEntry struct {
	Dtype   string   `json:"dtype"`
	Shape   []int64  `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// isSafetensors says whether the file's first bytes are the length of a header and the brace that opens it.
func isSafetensors(head []byte) bool {
	const length = 8
	return len(head) > length && head[length] == '{' && binary.LittleEndian.Uint64(head) <= maxHeaderBytes
}

func openSafetensors(file io.ReaderAt, size int64) (*Tensor, error) {
	all, err := readSafetensors(file, size)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("read the header: %d tensors, want 1", len(all))
	}
	return all[0].Value.(*Tensor), nil //nolint:forcetypeassert,errcheck // all are
}

// readSafetensors finds all tensors of the file, in the order of their names.
func readSafetensors(file io.ReaderAt, size int64) (Dict, error) {
	const prefix = 8
	head := make([]byte, prefix)
	if err := readFull(file, head, 0); err != nil {
		return nil, fmt.Errorf("read the length of the header: %w", err)
	}
	length := binary.LittleEndian.Uint64(head)
	if length > maxHeaderBytes || int64(length) > size-prefix { //nolint:gosec // just bounded
		return nil, fmt.Errorf("a header of %d bytes in a file of %d, limit %d", length, size, maxHeaderBytes)
	}
	text := make([]byte, length)
	if err := readFull(file, text, prefix); err != nil {
		return nil, fmt.Errorf("read the header: %w", err)
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, fmt.Errorf("read the header: %w", err)
	}
	delete(entries, metadataName)
	var all Dict
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		t, err := tensorOf(entries[name], file, prefix+int64(length), size) //nolint:gosec // just bounded
		if err != nil {
			return nil, fmt.Errorf("tensor %.100q: %w", name, err)
		}
		all = append(all, Item{Key: name, Value: t})
	}
	return all, nil
}

func tensorOf(raw json.RawMessage, file io.ReaderAt, data, size int64) (*Tensor, error) {
	var entry safetensorsEntry
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&entry); err != nil {
		return nil, fmt.Errorf("read the header: %w", err)
	}
	return entry.tensor(file, data, size)
}

// tensor checks the header against the bytes behind it, which begin at data.
func (e *safetensorsEntry) tensor(file io.ReaderAt, data, size int64) (*Tensor, error) {
	t := &Tensor{Dtype: safetensorsDtype(e.Dtype), Shape: e.Shape}
	if t.Dtype == 0 {
		return nil, fmt.Errorf("dtype %q is not known", e.Dtype)
	}
	first, last := e.Offsets[0], e.Offsets[1]
	if first < 0 || last < first || last > size-data {
		return nil, fmt.Errorf("elements from byte %d to %d of %d", first, last, size-data)
	}
	t.Stride = denseStride(e.Shape, false)
	if _, err := t.place(file, data+first, last-first); err != nil {
		return nil, err
	}
	if t.Count*t.Dtype.Size() != last-first {
		return nil, errors.New("its elements do not take the bytes that the header gives them")
	}
	return t, nil
}

// safetensorsDtype is the type that the format calls so, 0 when it has none of that name.
func safetensorsDtype(name string) Dtype {
	return map[string]Dtype{
		"BOOL": Bool, "U8": Uint8, "U16": Uint16, "U32": Uint32, "U64": Uint64, "I8": Int8, "I16": Int16, "I32": Int32, "I64": Int64,
		"F16": Float16, "BF16": BFloat16, "F32": Float32, "F64": Float64, "C64": Complex64,
		"F8_E4M3": Float8E4M3FN, "F8_E5M2": Float8E5M2,
	}[name]
}
