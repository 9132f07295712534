package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tensortap/tensortap/sql"
)

// addRank adds --rank, a rank from least on: -1 where it stands for all.
func addRank(f *pflag.FlagSet, into *int64, least int64, usage string) {
	f.Var(&wholeNumber{text: strconv.FormatInt(*into, 10), least: least, most: math.MaxUint32, into: into}, "rank", usage)
}

// wholeNumber is a flag of a whole number within bounds, for which an error says what is wanted.
type wholeNumber struct {
	text        string
	least, most int64
	into        *int64 // nil where the text is what counts
}

// Set implements pflag.Value.
func (n *wholeNumber) Set(text string) error {
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil || number < n.least || number > n.most {
		return fmt.Errorf("want a whole number, %d or more", n.least)
	}
	n.text = strconv.FormatInt(number, 10)
	if n.into != nil {
		*n.into = number
	}
	return nil
}

// String implements pflag.Value.
func (n *wholeNumber) String() string { return n.text }

// Type implements pflag.Value.
func (*wholeNumber) Type() string { return "int" }

// fraction is a flag of any number.
type fraction struct{ text string }

// Set implements pflag.Value.
func (n *fraction) Set(text string) error {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) {
		return errors.New("want a number")
	}
	n.text = strconv.FormatFloat(number, 'g', -1, 64)
	return nil
}

// String implements pflag.Value.
func (n *fraction) String() string { return n.text }

// Type implements pflag.Value.
func (*fraction) Type() string { return "float" }

// parameterFlag adds the flag of a parameter of a report, of the type that its SQL says.
func parameterFlag(f *pflag.FlagSet, p sql.Parameter) *pflag.Flag {
	name := strings.ReplaceAll(p.Name, "_", "-")
	switch {
	case strings.HasPrefix(p.Type, "Float"):
		f.Var(&fraction{text: p.Default}, name, p.Doc)
	case strings.HasPrefix(p.Type, "UInt"):
		f.Var(&wholeNumber{text: p.Default, most: math.MaxInt64}, name, p.Doc)
	case strings.HasPrefix(p.Type, "Int"):
		f.Var(&wholeNumber{text: p.Default, least: leastOf(p), most: math.MaxInt64}, name, p.Doc)
	default:
		f.String(name, p.Default, p.Doc)
	}
	return f.Lookup(name)
}

// leastOf is the least number that a parameter can mean: of a rank -1, where that is its default.
func leastOf(p sql.Parameter) int64 {
	if p.Name != "rank" {
		return math.MinInt64
	}
	if p.Default == "-1" {
		return -1
	}
	return 0
}
