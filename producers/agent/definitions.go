package agent

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

const (
	definitionHead  = 8 // length, then checksum
	mostDefinition  = 16 << 20
	definitionsRead = 1 << 20
)

// definition is one object of the file of definitions, of any kind.
type definition struct {
	Kind string `json:"d"`
	ID   uint32 `json:"id"`

	Name string `json:"name"`

	Op   uint32 `json:"op"`
	Role string `json:"role"`
	Path string `json:"path"`

	LayoutKind   string  `json:"kind"`
	Dtype        string  `json:"dtype"`
	Shape        []int64 `json:"shape"`
	StrideClass  string  `json:"stride_class"`
	DeviceKind   string  `json:"device_kind"`
	RequiresGrad *bool   `json:"requires_grad"`
	Placement    string  `json:"placement"`
	Literal      string  `json:"literal"`
	Count        uint64  `json:"count"`

	Description string  `json:"description"`
	Ranks       []int64 `json:"ranks"`
	Before      int     `json:"before"`

	Inputs  []string `json:"inputs"`
	Outputs []string `json:"outputs"`

	Frames []string `json:"frames"`
	Text   string   `json:"text"`
}

// definitions reads the file of definitions in pieces, as it grows. It is not safe for use by several goroutines.
type definitions struct {
	file   *os.File
	at     int64  // bytes handed over
	buffer []byte // read behind them
}

func openDefinitions(in *os.Root) (*definitions, error) {
	file, err := openFile(in, definitionsFile, os.O_RDONLY)
	if missing(err) {
		return nil, errNotReady
	}
	if err != nil {
		return nil, err
	}
	return &definitions{file: file}, nil
}

// rewind makes the definition at that place the next one.
func (d *definitions) rewind(at int64) { d.at, d.buffer = at, nil }

func (d *definitions) close() error { return d.file.Close() }

// next is the JSON of the next definition that is whole, and whether there is one. It is good until the next call.
// Only definitions that end at or before limit are looked at; a negative one is none.
func (d *definitions) next(limit int64) ([]byte, bool, error) {
	for {
		text, whole := firstDefinition(d.buffer)
		end := d.at + definitionHead + int64(len(text))
		if whole && (limit < 0 || end <= limit) {
			d.buffer = d.buffer[definitionHead+len(text):]
			d.at = end
			return text, true, nil
		}
		if whole {
			return nil, false, nil
		}
		if more, err := d.fill(); err != nil || !more {
			return nil, false, err
		}
	}
}

// firstDefinition is the one at the beginning of data, if it is there whole.
func firstDefinition(data []byte) (text []byte, whole bool) {
	if len(data) < definitionHead {
		return nil, false
	}
	length := binary.LittleEndian.Uint32(data)
	if length == 0 || length > mostDefinition || int(length) > len(data)-definitionHead {
		return nil, false
	}
	text = data[definitionHead : definitionHead+length]
	return text, crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)) == binary.LittleEndian.Uint32(data[4:])
}

// fill reads on, and says whether anything came. It reads a torn definition again.
func (d *definitions) fill() (bool, error) {
	info, err := d.file.Stat()
	if err != nil {
		return false, err
	}
	have := len(d.buffer)
	rest := max(info.Size()-d.at, 0)
	if rest <= int64(have) && have == 0 || have > mostDefinition+definitionHead {
		return false, nil
	}
	read := make([]byte, min(rest, int64(have)+definitionsRead))
	n, err := d.file.ReadAt(read, d.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read %s at %d: %w", definitionsFile, d.at, err)
	}
	changed := !bytes.Equal(read[:n], d.buffer)
	d.buffer = read[:n]
	return changed, nil
}

func parseDefinition(text []byte) (definition, error) {
	var d definition
	err := json.Unmarshal(text, &d)
	return d, err
}
