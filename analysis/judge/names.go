package judge

// String is the verdict as reports print it.
func (c Class) String() string {
	return name(c, "equal", "within", "agrees", "diverged", "not_finite", "structure", "unpaired", "unknown")
}

// String is as reports print it.
func (n Numeric) String() string {
	return name(n, "none", "equal", "within", "agrees", "diverged", "not_finite")
}

// String is the evidence as reports print it.
func (e Evidence) String() string {
	return name(e, "none", "statistics", "sketch", "digest(xor)", "digest(msprobe)", "digest", "payload", "literal")
}

// String is the side as reports print it.
func (s Side) String() string { return name(s, "none", "problem", "bench", "both") }

func name[T ~uint8](at T, names ...string) string {
	if int(at) < len(names) {
		return names[at]
	}
	return "unknown"
}
