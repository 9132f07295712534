package sglangshapes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/producers/internal/lines"
	"github.com/tensortap/tensortap/producers/internal/tally"
	"github.com/tensortap/tensortap/schemas"
)

// record is a line: which call it is, and the text of the facts, which many calls share.
type record struct {
	call  uint64
	pass  uint32
	facts []byte // the object without these two
}

// Both dialects begin a line so. Any other order of keys is read the long way.
const (
	callKey = `{"call_id": `
	passKey = `, "forward_pass": `
	nextKey = `, "operation": `
)

// parse reads a line as far as all lines differ.
func parse(l lines.Line) (record, error) {
	if err := l.Err(); err != nil {
		return record{}, err
	}
	if r, ok := parseQuickly(l.Text); ok {
		return r, nil
	}
	return parseWhole(l.Text)
}

func parseQuickly(text []byte) (r record, ok bool) {
	rest, ok := bytes.CutPrefix(text, []byte(callKey))
	if !ok {
		return r, false
	}
	call, rest, ok := bytes.Cut(rest, []byte(passKey))
	if !ok {
		return r, false
	}
	pass, _, ok := bytes.Cut(rest, []byte(nextKey))
	if !ok {
		return r, false
	}
	number, err := strconv.ParseUint(string(pass), 10, 32)
	if err != nil {
		return r, false
	}
	if r.call, err = strconv.ParseUint(string(call), 10, 64); err != nil || text[len(text)-1] != '}' {
		return r, false
	}
	r.pass, r.facts = uint32(number), rest[len(pass)+2:]
	return r, true
}

// fields are those of a line whose keys come in another order, or with other spaces.
type fields struct {
	Call *uint64 `json:"call_id"`
	Pass *uint64 `json:"forward_pass"`
}

func parseWhole(text []byte) (record, error) {
	var f fields
	if err := json.Unmarshal(text, &f); err != nil {
		return record{}, err
	}
	if f.Call == nil || f.Pass == nil || *f.Pass > math.MaxUint32 {
		return record{}, errors.New("it has no call_id and forward_pass that are numbers")
	}
	open := bytes.IndexByte(text, '{') // there is one: it is an object
	return record{call: *f.Call, pass: uint32(*f.Pass), facts: bytes.TrimSpace(text[open+1:])}, nil
}

// facts are what a call is known by.
type facts struct {
	call tally.Call // without its seq
	err  error      // why there are none
}

const (
	mostMessage = 8 << 10 // bytes of an exception's message
	ownPrefix   = "Aten." // of the names of ATen ops that are recorded by themselves
)

// read makes facts of their text: the inside of an object.
func read(text []byte) (f facts) {
	var found struct {
		Operation string          `json:"operation"`
		Inputs    json.RawMessage `json:"inputs"`
		Outputs   json.RawMessage `json:"outputs"`
		Error     *struct {
			Type    string `json:"error_type"`
			Message string `json:"error_message"`
		} `json:"error"`
	}
	if f.err = json.Unmarshal(append([]byte{'{'}, text...), &found); f.err != nil {
		return f
	}
	if found.Operation == "" {
		f.err = errors.New("it has no operation")
		return f
	}
	bare, signature := isOlder(text), &f.call.Signature
	signature.OpName = found.Operation
	var errs [2]error
	signature.Inputs, errs[0] = tensors(found.Inputs, bare, true)
	signature.Outputs, errs[1] = tensors(found.Outputs, bare, false)
	f.err = errors.Join(errs[:]...)
	if found.Error != nil {
		f.call.Op = ownPrefix + strings.TrimPrefix(found.Operation, "aten.")
		f.call.Type, f.call.Message = cmp.Or(found.Error.Type, "unknown error"), cut(found.Error.Message, mostMessage)
		signature.Outputs = []string{"raised " + f.call.Type}
	}
	signature.SignatureID = schemas.SignatureID(signature)
	return f
}

// isOlder says whether a line is of the older dialect, which has outputs before inputs, and shapes without a dtype.
func isOlder(text []byte) bool {
	outputs, inputs := bytes.Index(text, []byte(`"outputs"`)), bytes.Index(text, []byte(`"inputs"`))
	return outputs >= 0 && outputs < inputs
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 { // not within a character
		most--
	}
	return text[:most] + "…"
}
