package mapping

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/internal/strictyaml"
)

// cellRule is a line of msProbe's cell mapping: path and class of a module, or a piece of both.
type cellRule struct {
	problem, bench string
	line           int
}

// layerRule is a line of msProbe's layer mapping: the name by which modules of some class call a child, as one or
// more parts.
type layerRule struct {
	problem, bench string
	line           int
}

// topLayer is the class of the parent of the outermost modules, Cell its older name.
const (
	topLayer    = "TopLayer"
	oldTopLayer = "Cell"
)

func (m *Map) readData(fields []strictyaml.Field) error {
	for _, f := range fields {
		if err := m.readTensor(f); err != nil {
			return err
		}
	}
	return nil
}

func (m *Map) readCells(fields []strictyaml.Field) error {
	for _, f := range fields {
		key, value, err := texts(f)
		if err != nil {
			return err
		}
		m.cells = append(m.cells, cellRule{problem: key, bench: value, line: m.line(f)})
	}
	return nil
}

func (m *Map) readLayers(fields []strictyaml.Field) error {
	for _, f := range fields {
		class, err := f.Key.Text()
		if err != nil {
			return err
		}
		children, err := f.Value.Fields()
		if err != nil {
			return err
		}
		if class == oldTopLayer {
			class = topLayer
		}
		for _, child := range children {
			key, value, err := texts(child)
			if err != nil {
				return err
			}
			target, _, _ := strings.Cut(value, "(")
			rule := layerRule{problem: key, bench: target, line: m.add(child.Key.Line(), class+": "+key+": "+value)}
			m.layers[class] = append(m.layers[class], rule)
		}
	}
	for class := range m.layers {
		slices.SortStableFunc(m.layers[class], func(a, b layerRule) int {
			return cmp.Compare(strings.Count(b.problem, "."), strings.Count(a.problem, "."))
		})
	}
	return nil
}

// readAPIs reads msProbe's mapping of MindSpore's APIs to PyTorch's, with the arguments that are one another's partner.
func (m *Map) readAPIs(root strictyaml.Node) error {
	items, err := root.List()
	if err != nil {
		return err
	}
	for _, item := range items {
		rule, err := readAPI(item)
		if err != nil {
			return err
		}
		rule.line = m.add(item.Line(), rule.problem+": "+rule.bench)
		m.apis = append(m.apis, rule)
	}
	return nil
}

// apiLists are the lists of msProbe's mapping of APIs.
func apiLists() []struct{ name, role string } {
	return []struct{ name, role string }{
		{"args", roleInput}, {"output", roleOutput}, {"parameters", roleParameter}, {"parameters_grad", roleParameterGradient},
	}
}

func readAPI(item strictyaml.Node) (apiRule, error) {
	rule := apiRule{listed: true}
	known := []string{"ms_api", "pt_api"}
	for _, l := range apiLists() {
		known = append(known, "ms_"+l.name, "pt_"+l.name)
	}
	keys, err := item.Keys(known...)
	if err != nil {
		return rule, err
	}
	for name, field := range map[string]*string{"ms_api": &rule.problem, "pt_api": &rule.bench} {
		node, ok := keys[name]
		if !ok {
			return rule, item.Errorf("key %q is missing", name)
		}
		if *field, err = node.Text(); err != nil {
			return rule, err
		}
	}
	for _, l := range apiLists() {
		own, partners, err := lists(keys["ms_"+l.name], keys["pt_"+l.name], item)
		if err != nil {
			return rule, err
		}
		for i := range own {
			rule.arguments = append(rule.arguments, argument{placed(l.role, own[i]), placed(l.role, partners[i])})
		}
	}
	return rule, nil
}

// lists are two lists of one length; those that are missing are empty.
func lists(problem, bench, item strictyaml.Node) (p, b []string, err error) {
	if !problem.IsZero() {
		if p, err = problem.Texts(); err != nil {
			return nil, nil, err
		}
	}
	if !bench.IsZero() {
		if b, err = bench.Texts(); err != nil {
			return nil, nil, err
		}
	}
	if len(p) != len(b) {
		return nil, nil, item.Errorf("%d arguments of one API beside %d of the other: want as many", len(p), len(b))
	}
	return p, b, nil
}

func placed(role, path string) tensorPlace {
	if role == roleInput && !isNumber(path) {
		role = roleKwarg
	}
	return tensorPlace{role: role, path: path}
}

// renameCell is path and class of a module by the cell mapping: as a whole, else piece by piece.
func (m *Map) renameCell(path, class string) (name string, lines []int) {
	whole := below(path, class)
	for _, r := range m.cells {
		if r.problem == whole {
			return r.bench, []int{r.line}
		}
	}
	name = whole
	for _, r := range m.cells {
		if strings.Contains(name, r.problem) {
			name, lines = strings.Replace(name, r.problem, r.bench, 1), append(lines, r.line)
		}
	}
	return name, lines
}

// renameLayers is the path of a module by the layer mapping, child by child from the outermost on.
func (m *Map) renameLayers(path string, classes map[string]string) (name string, lines []int) {
	parts := strings.Split(path, ".")
	class, renamed := topLayer, []string{}
	for at := 0; at < len(parts); {
		step, target := 1, parts[at]
		for _, r := range m.layers[class] {
			n := strings.Count(r.problem, ".") + 1
			if at+n <= len(parts) && strings.Join(parts[at:at+n], ".") == r.problem {
				step, target, lines = n, r.bench, append(lines, r.line)
				break
			}
		}
		renamed = append(renamed, target)
		at += step
		class = cmp.Or(classes[strings.Join(parts[:at], ".")], parts[at-1])
	}
	return strings.Join(renamed, "."), lines
}

// mindspore is the prefix of PyTorch's API for one of MindSpore's, as msProbe has it.
func mindspore(api string) string {
	prefix, name, _ := strings.Cut(api, ".")
	switch prefix {
	case "Mint":
		return "Torch." + name
	case "MintFunctional":
		return "Functional." + name
	}
	return api
}
