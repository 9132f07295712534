package mapping

import (
	"strings"

	"github.com/tensortap/tensortap/internal/strictyaml"
	"github.com/tensortap/tensortap/schemas"
)

// moduleRule is a line that says which module of the problem is which of the bench.
type moduleRule struct {
	problem, bench *pattern
	line           int
}

// common is the name of the module by which both runs call it: the bench's, or, where that is a list, the problem's last
// part where the parts are.
func (r *moduleRule) common(texts map[string]string) string {
	if !r.bench.joins() {
		return fill(r.bench.text, texts)
	}
	_, last := cutLast(fill(r.problem.text, texts))
	return below(fill(r.bench.head, texts), last)
}

// apiRule is a line that says which API of the problem is which of the bench.
type apiRule struct {
	problem, bench string // prefix and name, as Torch.softmax
	line           int
	arguments      []argument // of msProbe's mapping of APIs; all others stand alone
	listed         bool       // whether arguments are listed at all
}

// argument is a place of the problem's op beside one of the bench's.
type argument struct{ problem, bench tensorPlace }

// tensorPlace is a role and a path.
type tensorPlace struct{ role, path string }

// exactRule is a line that names an op, or a tensor of one, in full.
type exactRule struct {
	problem, bench           *pattern // of the op's name
	problemPlace, benchPlace tensorPlace
	tensor                   bool
	line                     int
}

func (m *Map) readModule(f strictyaml.Field) error {
	key, value, err := texts(f)
	if err != nil {
		return err
	}
	p, b, err := pairPatterns(key, value)
	if err != nil {
		return f.Key.Errorf("%v", err)
	}
	if p.joins() && b.joins() {
		return f.Key.Errorf("a line joins the parts of one side, not of both")
	}
	m.modules = append(m.modules, moduleRule{problem: p, bench: b, line: m.line(f)})
	return nil
}

// readOp reads the full name of an op, or an API.
func (m *Map) readOp(f strictyaml.Field) error {
	key, value, err := texts(f)
	if err != nil {
		return err
	}
	if !schemas.NamesAnOp(plain(key)) && !schemas.NamesAnOp(plain(value)) {
		if strings.ContainsAny(key+value, "<[") {
			return f.Key.Errorf("an API is written without captures, as Torch.softmax")
		}
		m.apis = append(m.apis, apiRule{problem: key, bench: value, line: m.line(f)})
		return nil
	}
	p, b, err := pairPatterns(key, value)
	if err == nil && (p.joins() || b.joins()) {
		return f.Key.Errorf("only modules are joined")
	}
	if err != nil {
		return f.Key.Errorf("%v", err)
	}
	m.exact = append(m.exact, exactRule{problem: p, bench: b, line: m.line(f)})
	return nil
}

// plain is a pattern with a number in place of each capture.
func plain(text string) string {
	p, err := parsePattern(text)
	if err != nil {
		return text
	}
	texts := map[string]string{}
	for _, capture := range p.captures {
		texts[capture] = "0"
	}
	return fill(text, texts)
}

func (m *Map) readTensor(f strictyaml.Field) error {
	key, value, err := texts(f)
	if err != nil {
		return err
	}
	r := exactRule{tensor: true}
	names := [2]string{}
	for i, text := range []string{key, value} {
		name, place, ok := cutTensor(text)
		if !ok {
			return []strictyaml.Node{f.Key, f.Value}[i].Errorf("%q names no tensor: want an op, then input, output, parameters or parameters_grad, and its place", text)
		}
		if strings.ContainsAny(place.path, "<[") {
			return []strictyaml.Node{f.Key, f.Value}[i].Errorf("%q: the place of a tensor is written without captures", text)
		}
		names[i] = name
		if i == 0 {
			r.problemPlace = place
		} else {
			r.benchPlace = place
		}
	}
	if r.problem, r.bench, err = pairPatterns(names[0], names[1]); err != nil {
		return f.Key.Errorf("%v", err)
	}
	r.line = m.line(f)
	m.exact = append(m.exact, r)
	return nil
}

// cutTensor splits the name of a row as msProbe writes it: Functional.linear.0.forward.input.0. Numbers are positional
// arguments and names keyword arguments.
func cutTensor(row string) (op string, place tensorPlace, ok bool) {
	for _, word := range []string{".parameters_grad.", ".parameters.", ".input.", ".output."} {
		for at := strings.LastIndex(row, word); at > 0; at = strings.LastIndex(row[:at], word) {
			op, path := row[:at], row[at+len(word):]
			if word == ".parameters_grad." {
				return gradientOf(row, at, path)
			}
			if schemas.NamesAnOp(plain(op)) && endsOp(op) {
				return op, tensorPlace{role: roleOf(word, path), path: path}, true
			}
		}
	}
	return "", tensorPlace{}, false
}

// endsOp says whether a name ends as that of an op does: with its phase, or with the number of a module's call.
func endsOp(op string) bool {
	parsed := schemas.ParseOpName(plain(op))
	return parsed.Phase == schemas.PhaseForward || parsed.Phase == schemas.PhaseBackward
}

// gradientOf splits Module.a.Linear.parameters_grad.0.weight, of which the call may be missing.
func gradientOf(row string, at int, path string) (string, tensorPlace, bool) {
	op := row[:at] + ".parameters_grad"
	if call, name, ok := strings.Cut(path, "."); ok && isNumber(plain(call)) {
		op, path = op+"."+call, name
	}
	return op, tensorPlace{role: roleParameterGradient, path: path}, path != ""
}

func roleOf(word, path string) string {
	first, _, _ := strings.Cut(path, ".")
	switch {
	case word == ".parameters.":
		return roleParameter
	case word == ".output.":
		return roleOutput
	case isNumber(plain(first)):
		return roleInput
	}
	return roleKwarg
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// The roles of sites.
const (
	roleInput             = "input"
	roleKwarg             = "kwarg"
	roleOutput            = "output"
	roleParameter         = "parameter"
	roleParameterGradient = "parameter_gradient"
)
