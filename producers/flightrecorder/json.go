package flightrecorder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/internal/torchfile"
)

const mostDepth = 32

// readJSON gives the same values as a pickle would. Of a damaged text it gives the parts before the damage.
func readJSON(text []byte) (torchfile.List, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	value, err := readValue(decoder, 0)
	if err != nil {
		err = fmt.Errorf("at byte %d: %w", decoder.InputOffset(), err)
	}
	return torchfile.List{value}, err
}

func readValue(from *json.Decoder, depth int) (any, error) {
	token, err := from.Token()
	if err != nil {
		return nil, err
	}
	if depth > mostDepth {
		return nil, fmt.Errorf("more than %d values inside each other", mostDepth)
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '[' {
			return readList(from, depth)
		}
		return readDict(from, depth)
	case json.Number:
		return numberOf(t)
	default:
		return t, nil
	}
}

func numberOf(n json.Number) (any, error) {
	if whole, err := n.Int64(); err == nil {
		return whole, nil
	}
	return n.Float64()
}

func readList(from *json.Decoder, depth int) (torchfile.List, error) {
	var list torchfile.List
	for from.More() {
		value, err := readValue(from, depth+1)
		if value != nil || err == nil {
			list = append(list, value)
		}
		if err != nil {
			return list, err
		}
	}
	_, err := from.Token()
	return list, err
}

func readDict(from *json.Decoder, depth int) (torchfile.Dict, error) {
	var dict torchfile.Dict
	for from.More() {
		key, err := from.Token()
		if err != nil {
			return dict, err
		}
		if _, isText := key.(string); !isText {
			return dict, errors.New("a key that is no text")
		}
		value, err := readValue(from, depth+1)
		dict = append(dict, torchfile.Item{Key: key, Value: value})
		if err != nil {
			return dict, err
		}
	}
	_, err := from.Token()
	return dict, err
}
