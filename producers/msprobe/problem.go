package msprobe

import (
	"errors"
	"fmt"
)

// Problem is one unreadable part of a dump. The parts before and after it are kept.
type Problem struct {
	What   string
	File   string
	Offset int64  // byte in the file; -1 when it is about the file or folder as a whole
	Op     string // empty when it is about no op
}

// String is the problem on one line.
func (p Problem) String() string {
	text := p.File
	if p.Offset >= 0 {
		text += fmt.Sprintf(" at byte %d", p.Offset)
	}
	if p.Op != "" {
		text += fmt.Sprintf(", op %.200q", p.Op)
	}
	return text + ": " + p.What
}

// Problems is a bounded list: the first ones, and the number of all.
type Problems struct {
	First []Problem
	Count int
}

const maxProblems = 100

func (p *Problems) add(problem Problem) {
	p.Count++
	if len(p.First) < maxProblems {
		p.First = append(p.First, problem)
	}
}

// what is the text of a scanner's error, and its offset.
func what(err error, fallback int64) (text string, offset int64) {
	if syntax, ok := errors.AsType[*syntaxError](err); ok {
		return syntax.what, syntax.offset
	}
	return err.Error(), fallback
}

// damaged says whether the error is about the text, so that reading may go on behind it.
func damaged(err error) bool {
	_, syntax := errors.AsType[*syntaxError](err)
	return syntax || errors.Is(err, errCut)
}
