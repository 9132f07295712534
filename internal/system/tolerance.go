package system

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/ask"
)

// Tolerance says up to which relative L2 error two tensors agree. Begin with DefaultTolerance.
type Tolerance struct {
	Number float64 // for all tensors; -1 for one by dtype and depth
	Rules  []ToleranceRule
	File   string // that the rules were read from
}

// ToleranceRule is the tolerance of some tensors; of several rules that fit, the first counts.
type ToleranceRule struct {
	Op        string // pattern of the op's name or its module's path; * stands for any text
	Dtype     string // pattern of the dtype
	Tolerance float64
}

// DefaultTolerance is by dtype and depth.
func DefaultTolerance() Tolerance { return Tolerance{Number: -1} }

// Validate says what is wrong with it.
func (t Tolerance) Validate() error {
	if t.Number != -1 && !tolerable(t.Number) {
		return fmt.Errorf("tolerance %g: want a number from 0 on", t.Number)
	}
	return nil
}

func tolerable(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) && v >= 0 }

// String says which tolerance it is.
func (t Tolerance) String() string {
	switch {
	case t.File != "":
		return "by " + t.File
	case t.Number >= 0:
		return fmt.Sprint(t.Number)
	}
	return "by dtype and depth"
}

// written is what --tolerance takes for it; empty by dtype and depth.
func (t Tolerance) written() string {
	switch {
	case t.File != "":
		return t.File
	case t.Number >= 0:
		return fmt.Sprint(t.Number)
	}
	return ""
}

// parameter is the rules as the database reads an Array(Tuple(String, String, Float64)).
func (t Tolerance) parameter() string {
	rules := make([]string, len(t.Rules))
	for i, r := range t.Rules {
		rules[i] = "(" + ask.Text(r.Op) + "," + ask.Text(r.Dtype) + "," + fmt.Sprint(r.Tolerance) + ")"
	}
	return "[" + strings.Join(rules, ",") + "]"
}

// ParseTolerance reads a number, or the file of that name.
func ParseTolerance(text string) (Tolerance, error) {
	t := DefaultTolerance()
	if number, err := strconv.ParseFloat(text, 64); err == nil {
		if !tolerable(number) {
			return t, fmt.Errorf("tolerance %s: want a number from 0 on, or a file", text)
		}
		t.Number = number
		return t, nil
	}
	file, err := os.Open(text) //nolint:gosec // the user names it
	if err != nil {
		return t, fmt.Errorf("tolerance %s: neither a number nor a file: %w", text, err)
	}
	defer file.Close() //nolint:errcheck // only read
	t.File = text
	if t.Rules, err = readRules(file); err != nil {
		return t, fmt.Errorf("read tolerances from %s: %w", text, err)
	}
	return t, nil
}

// mostRules bounds a file of tolerances: each rule is held against each op.
const mostRules = 1000

// readRules reads lines of three words: pattern of op or module, pattern of dtype, tolerance. # begins a comment.
func readRules(from io.Reader) ([]ToleranceRule, error) {
	var rules []ToleranceRule
	lines := bufio.NewScanner(from)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if len(words) != 3 {
			return nil, fmt.Errorf("line %d: %d words, want 3: a pattern of op or module, one of dtype, and a tolerance, as: layers.3.* torch.bfloat16 0.02", n, len(words))
		}
		number, err := strconv.ParseFloat(words[2], 64)
		if err != nil || !tolerable(number) {
			return nil, fmt.Errorf("line %d: tolerance %q: want a number from 0 on", n, words[2])
		}
		rules = append(rules, ToleranceRule{Op: words[0], Dtype: words[1], Tolerance: number})
	}
	switch {
	case lines.Err() != nil:
		return nil, lines.Err()
	case len(rules) == 0:
		return nil, fmt.Errorf("no rule in it; a rule is three words, as: layers.3.* torch.bfloat16 0.02")
	case len(rules) > mostRules:
		return nil, fmt.Errorf("%d rules, limit %d", len(rules), mostRules)
	}
	return rules, nil
}
