package msprobedump

import (
	"strconv"
	"strings"
)

// placed is a record and what is left of the path to it.
type placed struct {
	path   string
	record *node
}

// tree nests records by their paths: in a list where all steps of the paths are numbers, else in an object. An empty
// list stands where a number is left out, since msProbe's own empty lists have no record. A single record without a
// path stands for itself.
func tree(values []placed, empty *node) *node {
	if len(values) == 0 {
		return empty
	}
	if len(values) == 1 && values[0].path == "" {
		return values[0].record
	}
	names, below := groups(values)
	if n, ok := asList(names, below); ok {
		return n
	}
	n := object()
	for i, name := range names {
		for _, part := range apart(name, below[i]) {
			n.add(part.name, tree(part.values, nil))
		}
	}
	return n
}

// groups gathers values by the first step of their paths, in the order in which these first occur.
func groups(values []placed) (names []string, below [][]placed) {
	at := map[string]int{}
	for _, v := range values {
		name, rest, _ := strings.Cut(v.path, ".")
		i, known := at[name]
		if !known {
			i = len(names)
			at[name] = i
			names = append(names, name)
			below = append(below, nil)
		}
		below[i] = append(below[i], placed{rest, v.record})
	}
	return names, below
}

// asList is the list of what is below, if all names are numbers that make one.
func asList(names []string, below [][]placed) (*node, bool) {
	const mostGaps = 256
	n := list()
	for i, name := range names {
		index, err := strconv.Atoi(name)
		if err != nil || index < 0 || strconv.Itoa(index) != name || index > len(names)+mostGaps || len(apart(name, below[i])) > 1 {
			return nil, false
		}
		for len(n.items) <= index {
			n.items = append(n.items, list())
		}
		n.items[index] = tree(below[i], nil)
	}
	return n, true
}

// part is a member of an object.
type part struct {
	name   string
	values []placed
}

// apart separates a record from others that stand below it: a name with a dot in it makes them look so.
func apart(name string, values []placed) []part {
	if len(values) == 1 || allBelow(values) {
		return []part{{name, values}}
	}
	var parts []part
	for _, v := range values {
		full := name
		if v.path != "" {
			full += "." + v.path
		}
		parts = append(parts, part{full, []placed{{"", v.record}}})
	}
	return parts
}

func allBelow(values []placed) bool {
	for _, v := range values {
		if v.path == "" {
			return false
		}
	}
	return true
}
