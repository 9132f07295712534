package msprobe

import (
	"math"

	"github.com/tensortap/tensortap/schemas"
)

const microStepsKey = "megatron_micro_step_number"

// constructReader reads construct.json: each op's parent and, of Megatron, its micro step.
type constructReader struct {
	*reading
	scan *scanner
	// each is called with every op and its parent, which is empty when there is none. Both texts are for this call only.
	each func(op, parent []byte, microStep uint16) error
	name []byte
}

func (c *constructReader) read() error {
	t, err := c.scan.next()
	if err == nil && t != tokenObject {
		return &syntaxError{what: "no object at the top"}
	}
	for err == nil {
		if t, err = c.scan.next(); err != nil || t != tokenKey {
			return err
		}
		c.name = append(c.name[:0], c.scan.unescape(nil)...)
		err = c.member()
	}
	return err
}

func (c *constructReader) member() error {
	t, err := c.scan.next()
	if err != nil {
		return err
	}
	if string(c.name) == microStepsKey {
		return c.scan.skip(t)
	}
	switch t {
	case tokenString:
		return c.each(c.name, c.scan.unescape(nil), 0)
	case tokenArray:
		return c.pair()
	case tokenEnd, tokenObject, tokenObjectEnd, tokenArrayEnd, tokenKey, tokenNumber, tokenTrue, tokenFalse, tokenNull:
	}
	return firstError(c.scan.skip(t), c.each(c.name, nil, 0))
}

// pair reads [parent or null, micro step].
func (c *constructReader) pair() error {
	var parent []byte
	var microStep uint16
	for {
		t, err := c.scan.next()
		if err != nil {
			return err
		}
		switch t {
		case tokenArrayEnd:
			return c.each(c.name, parent, microStep)
		case tokenString:
			parent = append(parent[:0], c.scan.unescape(nil)...)
		case tokenNumber:
			microStep = uint16(min(max(float(c.scan.text()), 0), math.MaxUint16))
		case tokenEnd, tokenObject, tokenObjectEnd, tokenArray, tokenKey, tokenTrue, tokenFalse, tokenNull:
			if err := c.scan.skip(t); err != nil {
				return err
			}
		}
	}
}

// link notes the parents of all ops.
func (r *reading) link(op, parent []byte, microStep uint16) error {
	above := uint64(0)
	if len(parent) > 0 {
		above = schemas.OpID(view(parent))
	}
	r.graph.link(schemas.OpID(view(op)), above, microStep)
	return nil
}

// describe writes the row of every op in missing, which construct.json names and dump.json lacks.
func (r *reading) describe(missing map[uint64]bool) func(op, parent []byte, microStep uint16) error {
	return func(op, parent []byte, _ uint16) error {
		for _, name := range [][]byte{op, parent} {
			id := schemas.OpID(view(name))
			if !missing[id] {
				continue
			}
			delete(missing, id)
			parsed := schemas.ParseOpName(string(name))
			if err := r.addOp(&parsed); err != nil {
				return err
			}
		}
		return nil
	}
}

// structure makes the ops of construct.json the ops of the step. It serves dumps of task structure, which hold no others.
func (r *reading) structure(op, _ []byte, _ uint16) error {
	id := schemas.OpID(view(op))
	if _, first := r.graph.run(id); !first {
		return nil
	}
	r.opCount++
	parsed := schemas.ParseOpName(string(op))
	return r.addOp(&parsed)
}
