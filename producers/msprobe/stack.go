package msprobe

import (
	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

const (
	maxStackBytes = 3 << 20
	maxFrames     = 1 << 14
)

// stackReader reads stack.json in its two forms: ops grouped by stack, or a stack for each op.
type stackReader struct {
	*reading
	scan   *scanner
	texts  *names
	known  map[uint64]bool
	ops    []uint64 // of the group being read
	frames []string
	bytes  int

	scratch []byte
}

func (s *stackReader) read() error {
	t, err := s.scan.next()
	if err == nil && t != tokenObject {
		return &syntaxError{what: "no object at the top"}
	}
	for err == nil {
		if t, err = s.scan.next(); err != nil || t != tokenKey {
			return err
		}
		s.ops, s.frames, s.bytes = s.ops[:0], s.frames[:0], 0
		err = s.member(schemas.OpID(view(s.scan.unescape(nil))))
	}
	return err
}

// member reads [[op …], [frame …]] or, for the op whose id is the key's, [frame …].
func (s *stackReader) member(key uint64) error {
	t, err := s.scan.next()
	if err != nil || t != tokenArray {
		return firstError(err, s.scan.skip(t))
	}
	lists := 0
	for {
		t, err := s.scan.next()
		if err != nil {
			return err
		}
		switch t {
		case tokenArrayEnd:
			if lists == 0 {
				s.ops = append(s.ops, key)
			}
			return s.keep()
		case tokenString:
			s.frame()
		case tokenArray:
			lists++
			err = s.list(lists == 1)
		case tokenEnd, tokenObject, tokenObjectEnd, tokenKey, tokenNumber, tokenTrue, tokenFalse, tokenNull:
			err = s.scan.skip(t)
		}
		if err != nil {
			return err
		}
	}
}

func (s *stackReader) list(ops bool) error { //nolint:revive // flag-parameter: the two lists differ in nothing else
	for {
		t, err := s.scan.next()
		if err != nil || t == tokenArrayEnd {
			return err
		}
		if t != tokenString {
			if err := s.scan.skip(t); err != nil {
				return err
			}
			continue
		}
		if ops {
			s.ops = append(s.ops, schemas.OpID(view(s.scan.unescape(nil))))
		} else {
			s.frame()
		}
	}
}

func (s *stackReader) frame() {
	text := s.scan.text()
	s.bytes += len(text)
	if s.bytes > maxStackBytes || len(s.frames) >= maxFrames {
		s.scan.noteOverlong()
		return
	}
	s.scratch = append(s.scratch[:0], s.scan.unescape(nil)...)
	s.frames = append(s.frames, s.texts.get(s.scratch))
}

// keep writes the stack when it is new, and notes it for its ops.
func (s *stackReader) keep() error {
	if s.scan.overlong >= 0 {
		s.problem(Problem{What: "a call stack too long to keep", File: stackFile, Offset: s.scan.overlong})
		s.scan.overlong = -1
		return nil
	}
	if len(s.frames) == 0 {
		return nil
	}
	id := schemas.StackID(s.frames)
	for _, op := range s.ops {
		s.graph.nodes[s.graph.at(op)].stack = id
	}
	if s.known[id] {
		return nil
	}
	s.known[id] = true
	return batch.Add(s.out, s.out.Stack, &schemas.StackRow{StackID: id, Frames: s.frames}, s.bytes)
}
