package msprobe

import "github.com/tensortap/tensortap/schemas"

// entry reads the entry of an op of dump.json whose first token is t: its sections or, if the op is no object of
// sections, the value itself. It says whether the op was recomputed for its gradient.
func (r *values) entry(t token) (recompute bool, err error) {
	if t != tokenObject {
		return false, r.saved(t)
	}
	r.reset()
	for {
		t, err := r.scan.next()
		if err != nil || t == tokenObjectEnd {
			return recompute, err
		}
		again, err := r.section()
		if err != nil {
			return recompute, err
		}
		recompute = recompute || again
		r.path = r.path[:0]
	}
}

// section reads one member of an op's entry, whose key is the current token.
func (r *values) section() (recompute bool, err error) {
	switch view(r.scan.text()) {
	case "input_args", "input":
		return false, r.part(roleInput)
	case "input_kwargs":
		return false, r.part(roleKwarg)
	case "output":
		return false, r.part(roleOutput)
	case "parameters":
		return false, r.part(roleParameter)
	case "is_recompute":
		t, err := r.scan.next()
		return t == tokenTrue, firstError(err, r.scan.skip(t))
	case "is_nan":
		r.path = append(r.path, "is_nan"...) // msProbe's verdict on the op's outputs
		return false, r.part(roleOutput)
	}
	r.path = append(r.path, r.scan.unescape(r.scratch)...)
	if schemas.NamesAnOp(view(r.path)) {
		return false, r.scan.fail("an op inside another, which was not closed")
	}
	return false, r.part(roleKwarg) // no section that is known: kept under its name
}

func (r *values) part(to role) error {
	r.role = to
	t, err := r.scan.next()
	if err != nil {
		return err
	}
	return r.any(t)
}

// gradients reads the entry of a parameters_grad op: a list of one tensor per parameter.
func (r *values) gradients(t token) error {
	if t != tokenObject {
		return r.saved(t)
	}
	r.reset()
	r.role = roleGradient
	for {
		t, err := r.scan.next()
		if err != nil || t == tokenObjectEnd {
			return err
		}
		r.path = append(r.path[:0], r.scan.unescape(r.scratch)...)
		if t, err = r.scan.next(); err != nil {
			return err
		}
		if t == tokenArray {
			err = r.oneGradient()
		} else {
			err = r.any(t)
		}
		if err != nil {
			return err
		}
	}
}

// oneGradient reads the list of one parameter's gradient. The first has the parameter's name for its path, and others,
// which msProbe does not write, their position behind it.
func (r *values) oneGradient() error {
	t, err := r.scan.next()
	if err != nil || t == tokenArrayEnd {
		return err
	}
	base := len(r.path)
	for i := int64(0); t != tokenArrayEnd; i++ {
		if i > 0 {
			r.path = appendIndex(r.path[:base], i)
		}
		if err := r.any(t); err != nil {
			return err
		}
		r.path = r.path[:base]
		if t, err = r.scan.next(); err != nil {
			return err
		}
	}
	return nil
}

// saved reads the entry of debug.json: one value, by the name that its user gave it.
func (r *values) saved(t token) error {
	r.reset()
	r.role = roleOutput
	return r.any(t)
}
