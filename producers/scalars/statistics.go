package scalars

import (
	"bytes"
	"strconv"
	"strings"
)

// statistic reads a line of Transformer Engine's log of statistics:
//
//	INFO - layer.0.qkv_activation_max    iteration=000002    value=4.3188
//
// It says false for any other line.
func statistic(line []byte) (one scalar, ok bool) {
	_, rest, isInfo := bytes.Cut(line, []byte("INFO - "))
	words := strings.Fields(string(rest))
	if !isInfo || len(words) != 3 {
		return one, false
	}
	iteration, hasIteration := strings.CutPrefix(words[1], "iteration=")
	text, hasValue := strings.CutPrefix(words[2], "value=")
	number, badStep := strconv.ParseUint(iteration, 10, 32)
	value, badValue := strconv.ParseFloat(text, 64)
	if !hasIteration || !hasValue || badStep != nil || badValue != nil {
		return one, false
	}
	step := uint32(number)
	_, decimals, _ := strings.Cut(text, ".")
	return scalar{name: words[0], value: value, step: &step, digits: int16(min(len(decimals), 64))}, true //nolint:gosec // just bounded
}
