package scalars

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	wandbOwn  = "_" // its own names begin so
	wandbStep = "_step"
	wandbTime = "_timestamp"
)

// isWandb says whether a file is named like what W&B exports: wandb-history.jsonl, wandb_export_2026-….csv.
func isWandb(name string) bool {
	return strings.HasPrefix(name, "wandb") && (strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".csv"))
}

// history reads a line of W&B's history: an object of the numbers that were logged at once. Python writes NaN as such.
func history(line []byte) ([]scalar, error) {
	facts := map[string]json.RawMessage{}
	if err := json.Unmarshal(line, &facts); err != nil {
		if failed := json.Unmarshal(quoted(line), &facts); failed != nil {
			return nil, err
		}
	}
	var found []scalar
	for name, raw := range facts {
		text := string(bytes.Trim(raw, `"`))
		if value, isNumber := numberOf(text); isNumber {
			found = append(found, scalar{name: name, value: value, digits: -1})
		}
	}
	return logged(found), nil
}

func quoted(line []byte) []byte {
	for _, number := range []string{"NaN", "Infinity", "-Infinity"} {
		line = bytes.ReplaceAll(line, []byte(": "+number), []byte(`: "`+number+`"`))
	}
	return line
}

// numberOf is a number of JSON or CSV, with those that are not finite as Python, JavaScript and W&B write them.
func numberOf(text string) (value float64, isNumber bool) {
	if text == "" || strings.Trim(text, "0123456789+-.eE") != "" && !slices.Contains([]string{"NaN", "nan", "Infinity", "-Infinity", "inf", "-inf"}, text) {
		return 0, false
	}
	value, err := strconv.ParseFloat(text, 64)
	return value, err == nil
}

// logged gives all numbers the step and the time that are among them, and leaves out what W&B itself adds.
func logged(all []scalar) (found []scalar) {
	var step *uint32
	var timeNs int64
	for _, one := range all {
		switch {
		case (one.name == wandbStep || one.name == "Step") && one.value >= 0 && one.value <= math.MaxUint32:
			number := uint32(one.value)
			step = &number
		case one.name == wandbTime && one.value > 0 && one.value < math.MaxInt64/1e9:
			timeNs = int64(one.value * 1e9)
		}
	}
	for _, one := range all {
		if strings.HasPrefix(one.name, wandbOwn) || one.name == "Step" || strings.HasSuffix(one.name, "__MIN") || strings.HasSuffix(one.name, "__MAX") {
			continue
		}
		one.step, one.timeNs = step, timeNs
		found = append(found, one)
	}
	slices.SortStableFunc(found, func(a, b scalar) int { return strings.Compare(a.name, b.name) })
	return found
}

// table reads the lines of a CSV export, of which the first has the names.
type table struct{ names []string }

func (t *table) row(line []byte) ([]scalar, error) {
	from := csv.NewReader(bytes.NewReader(line))
	from.FieldsPerRecord = len(t.names)
	cells, err := from.Read()
	if err != nil {
		return nil, err
	}
	if t.names == nil {
		return nil, t.begin(cells)
	}
	var found []scalar
	for i, text := range cells {
		if value, isNumber := numberOf(text); isNumber {
			found = append(found, scalar{name: t.names[i], value: value, digits: -1})
		}
	}
	return logged(found), nil
}

func (t *table) begin(names []string) error {
	for _, name := range names {
		if _, isNumber := numberOf(name); isNumber {
			return fmt.Errorf("the number %s stands where names of columns must", name)
		}
	}
	t.names = names
	return nil
}

var errHalf = errors.New("its end was not written")

// rowOf reads a line, the last one of a table only where it shows that it is whole: a number may go on.
func (t *table) rowOf(line []byte, whole bool) ([]scalar, error) { //nolint:revive // flag-parameter: a fact about the line
	if !whole && !bytes.HasSuffix(line, []byte(`"`)) {
		return nil, errHalf
	}
	found, err := t.row(line)
	if err != nil {
		return nil, fmt.Errorf("a row of %d columns is wanted: %w", len(t.names), err)
	}
	return found, nil
}
