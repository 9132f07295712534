package msprobe

func separated(out []byte) []byte {
	if len(out) > 0 {
		return append(out, ',')
	}
	return out
}

func appendQuoted(out, escaped []byte) []byte {
	out = append(out, '"')
	out = append(out, escaped...)
	return append(out, '"')
}

// compact appends the value that begins with t as JSON without blanks, NaN and infinities as they stand.
func (r *values) compact(out []byte, t token) ([]byte, error) {
	outer := r.scan.depth
	if t == tokenObject || t == tokenArray {
		outer--
	}
	fresh := true // no comma before the next element
	for {
		if !fresh && t != tokenObjectEnd && t != tokenArrayEnd {
			out = append(out, ',')
		}
		out = r.appendToken(out, t)
		fresh = t == tokenObject || t == tokenArray || t == tokenKey
		if len(out) > maxTextBytes {
			r.scan.noteOverlong()
			out = out[:0]
		}
		if r.scan.depth == outer && t != tokenKey {
			return out, nil
		}
		var err error
		if t, err = r.scan.next(); err != nil {
			return out, err
		}
	}
}

func (r *values) appendToken(out []byte, t token) []byte {
	switch t {
	case tokenObject:
		return append(out, '{')
	case tokenObjectEnd:
		return append(out, '}')
	case tokenArray:
		return append(out, '[')
	case tokenArrayEnd:
		return append(out, ']')
	case tokenKey:
		return append(appendQuoted(out, r.scan.text()), ':')
	case tokenString:
		return appendQuoted(out, r.scan.text())
	case tokenNumber:
		return append(out, r.scan.text()...)
	case tokenTrue:
		return append(out, "true"...)
	case tokenFalse:
		return append(out, "false"...)
	case tokenNull:
		return append(out, "null"...)
	case tokenEnd:
	}
	return out
}
