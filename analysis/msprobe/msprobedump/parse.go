package msprobedump

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// parse reads a list or an object that was kept as compact text. It fails on all else.
func parse(literal string) (*node, bool) {
	if !strings.HasPrefix(literal, "[") && !strings.HasPrefix(literal, "{") {
		return nil, false
	}
	decoder := json.NewDecoder(strings.NewReader(literal))
	decoder.UseNumber()
	n, err := next(decoder)
	if err != nil {
		return nil, false
	}
	_, err = decoder.Token()
	return n, errors.Is(err, io.EOF)
}

// next reads one value.
func next(decoder *json.Decoder) (*node, error) {
	t, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch v := t.(type) {
	case json.Delim:
		return members(decoder, v)
	case string:
		return text(v), nil
	case json.Number:
		return token(v.String()), nil
	case bool:
		return token(map[bool]string{true: "true", false: "false"}[v]), nil
	}
	return token("null"), nil
}

// members reads a list or an object behind its opening bracket.
func members(decoder *json.Decoder, opening json.Delim) (*node, error) {
	n := list()
	if opening == '{' {
		n = object()
	}
	for decoder.More() {
		if n.keys != nil {
			key, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			n.keys = append(n.keys, name)
		}
		item, err := next(decoder)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := decoder.Token() // the closing bracket
	return n, err
}
