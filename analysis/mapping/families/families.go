// Package families has the maps that ship: for each family of models a file that says how Transformers, vLLM, SGLang and
// Megatron name its modules, and what of them cannot be compared. Of two runs it chooses the map, by the classes of their
// modules and their engines. It is pure: the files are part of the program.
package families

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/internal/strictyaml"
)

//go:embed shipped/*.yaml
var shipped embed.FS

// Implementation is a program that models are written for.
type Implementation string

// The implementations that families name.
const (
	Transformers Implementation = "transformers"
	VLLM         Implementation = "vllm"
	SGLang       Implementation = "sglang"
	Megatron     Implementation = "megatron"
)

// Implementations are all of them.
func Implementations() []Implementation {
	return []Implementation{Transformers, VLLM, SGLang, Megatron}
}

// Family is a family of models: modules, values and residual streams by the names of each implementation, and what has no
// counterpart.
type Family struct {
	Name    string
	Layers  []string // classes of a layer, by which runs tell their family
	Modules []Line
	Values  []Line
	Streams []Line
	Apart   []Apart
	Casts   map[Implementation][]string // values in floats of another width
	Sums    map[Implementation][]string // values that tensor-parallel ranks may leave to be added up
}

// Line is one thing by the name of each implementation. An implementation that is not in it uses the name of Transformers.
type Line map[Implementation]string

// of is the name that an implementation uses; empty where it has no such thing.
func (l Line) of(one Implementation) string {
	if name, own := l[one]; own {
		return strings.Trim(name, "-")
	}
	if one == Megatron {
		return ""
	}
	return l[Transformers]
}

// Apart is what has no counterpart in other implementations, and why.
type Apart struct {
	Reason string
	Lines  map[Implementation][]string
}

// All are the families that ship, by name.
func All() ([]Family, error) {
	files, err := fs.Glob(shipped, "shipped/*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the maps that ship: %w", err)
	}
	byName := map[string]*written{}
	for _, file := range files {
		content, err := shipped.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a map that ships: %w", err)
		}
		one, err := read(file, content)
		if err != nil {
			return nil, err
		}
		one.Name = strings.TrimSuffix(path.Base(file), ".yaml")
		byName[one.Name] = one
	}
	list := make([]Family, 0, len(byName))
	for _, one := range byName {
		whole, err := one.whole(byName)
		if err != nil {
			return nil, err
		}
		list = append(list, whole)
	}
	slices.SortFunc(list, func(a, b Family) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// written is a family as its file has it.
type written struct {
	Family
	like string // the family whose lines follow its own; empty for none
}

// whole is the family with the lines of the one that it is like.
func (w *written) whole(all map[string]*written) (Family, error) {
	if w.like == "" {
		return w.Family, nil
	}
	other := all[w.like]
	if other == nil || other.like != "" {
		return Family{}, fmt.Errorf("family %s is like %q: want a family that is like none", w.Name, w.like)
	}
	one := w.Family
	one.Modules = slices.Concat(w.Modules, other.Modules)
	one.Values = slices.Concat(w.Values, other.Values)
	one.Streams = slices.Concat(w.Streams, other.Streams)
	one.Apart = slices.Concat(w.Apart, other.Apart)
	one.Casts, one.Sums = map[Implementation][]string{}, map[Implementation][]string{}
	for _, by := range Implementations() {
		one.Casts[by] = slices.Concat(w.Casts[by], other.Casts[by])
		one.Sums[by] = slices.Concat(w.Sums[by], other.Sums[by])
	}
	return one, nil
}

func read(file string, content []byte) (*written, error) {
	root, err := strictyaml.Parse(file, content)
	if err != nil {
		return nil, err
	}
	keys, err := root.Keys("like", "layers", "modules", "values", "streams", "apart", "casts", "sums")
	if err != nil {
		return nil, err
	}
	w := &written{}
	if node, ok := keys["like"]; ok {
		if w.like, err = node.Text(); err != nil {
			return nil, err
		}
	}
	if w.Layers, err = keys["layers"].Texts(); err != nil {
		return nil, err
	}
	for name, into := range map[string]*[]Line{"modules": &w.Modules, "values": &w.Values, "streams": &w.Streams} {
		if node, ok := keys[name]; ok {
			if *into, err = readLines(node); err != nil {
				return nil, err
			}
		}
	}
	if node, ok := keys["apart"]; ok {
		if w.Apart, err = readApart(node); err != nil {
			return nil, err
		}
	}
	for name, into := range map[string]*map[Implementation][]string{"casts": &w.Casts, "sums": &w.Sums} {
		if node, ok := keys[name]; ok {
			if *into, err = readSides(node); err != nil {
				return nil, err
			}
		}
	}
	return w, nil
}

func readLines(node strictyaml.Node) ([]Line, error) {
	items, err := node.List()
	if err != nil {
		return nil, err
	}
	lines := make([]Line, len(items))
	for i, item := range items {
		fields, err := item.Fields()
		if err != nil {
			return nil, err
		}
		lines[i] = Line{}
		for _, f := range fields {
			name, err := f.Value.Text()
			if err != nil {
				return nil, err
			}
			ones, err := implementationsOf(f.Key)
			if err != nil {
				return nil, err
			}
			for _, one := range ones {
				lines[i][one] = name
			}
		}
	}
	return lines, nil
}

// implementationsOf reads a key that names one implementation or several, as `vllm, sglang`.
func implementationsOf(key strictyaml.Node) ([]Implementation, error) {
	text, err := key.Text()
	if err != nil {
		return nil, err
	}
	var list []Implementation
	for name := range strings.SplitSeq(text, ",") {
		one := Implementation(strings.TrimSpace(name))
		if !slices.Contains(Implementations(), one) {
			return nil, key.Errorf("%q is no implementation: want some of %v", one, Implementations())
		}
		list = append(list, one)
	}
	return list, nil
}

func readApart(node strictyaml.Node) ([]Apart, error) {
	fields, err := node.Fields()
	if err != nil {
		return nil, err
	}
	list := make([]Apart, len(fields))
	for i, f := range fields {
		if list[i].Reason, err = f.Key.Text(); err != nil {
			return nil, err
		}
		if list[i].Lines, err = readSides(f.Value); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// readSides reads a list of values for each implementation.
func readSides(node strictyaml.Node) (map[Implementation][]string, error) {
	sides, err := node.Fields()
	if err != nil {
		return nil, err
	}
	all := map[Implementation][]string{}
	for _, side := range sides {
		ones, err := implementationsOf(side.Key)
		if err != nil {
			return nil, err
		}
		lines, err := side.Value.Texts()
		if err != nil {
			return nil, err
		}
		for _, one := range ones {
			all[one] = append(all[one], lines...)
		}
	}
	return all, nil
}
