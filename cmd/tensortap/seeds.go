package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// repeatable asks for a program that computes the same each time.
type repeatable struct {
	seed          string
	deterministic bool
}

func (r *repeatable) flags(f *pflag.FlagSet) {
	f.StringVar(&r.seed, "seed", "", "seed the generators of Python, numpy and PyTorch in every Python process, before the program does")
	f.BoolVar(&r.deterministic, "deterministic", false, "have PyTorch take deterministic algorithms in every Python process, and warn where there is none")
}

// check refuses a seed that not every generator takes.
func (r *repeatable) check() error {
	if _, err := strconv.ParseUint(r.seed, 10, 32); r.seed != "" && err != nil {
		return fmt.Errorf("--seed %s: want a whole number from 0 to 4294967295, which numpy and PYTHONHASHSEED take", strconv.Quote(r.seed))
	}
	return nil
}

// variables are those that the collector reads, and those that Python and cuBLAS read as they start, unless the user has set
// them.
func (r *repeatable) variables(users []string) []string {
	var wanted []string
	if r.seed != "" {
		wanted = append(wanted, "TENSORTAP_SEED="+r.seed)
		wanted = unlessSet(wanted, users, "PYTHONHASHSEED", r.seed)
	}
	if r.deterministic {
		wanted = append(wanted, "TENSORTAP_DETERMINISTIC=1")
		wanted = unlessSet(wanted, users, "CUBLAS_WORKSPACE_CONFIG", ":4096:8")
	}
	return wanted
}

func unlessSet(wanted, users []string, name, value string) []string {
	for _, variable := range users {
		if strings.HasPrefix(variable, name+"=") {
			return wanted
		}
	}
	return append(wanted, name+"="+value)
}
