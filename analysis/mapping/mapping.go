// Package mapping reads files that say how the problem and the bench name and
// join the same modules, ops and tensors, and looks at two runs through them:
// parts that the other run has as one are joined, their statistics merged
// exactly, and modules of the problem bear the names of the bench. msProbe's
// mapping files are read as they are. It is pure, but for reading the file.
package mapping

import (
	"fmt"
	"os"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/internal/strictyaml"
	"github.com/tensortap/tensortap/schemas"
)

// Kind says which sort of file a map was read from.
type Kind string

// The kinds of files.
const (
	Own   Kind = "tensortap"
	Data  Kind = "msprobe data mapping"
	Cell  Kind = "msprobe cell mapping"
	API   Kind = "msprobe api mapping"
	Layer Kind = "msprobe layer mapping"
)

// Map is a mapping file.
type Map struct {
	File    string
	Text    string // its content
	Digest  string // of that
	Kind    Kind
	Lines   []Line
	Flatten bool   // all dimensions of a tensor but the last are one
	Name    string // of a map that ships, as `llama: vllm ↔ transformers`; else empty
	// Implementations says that the runs are two implementations of a model: what tells only these apart is no difference.
	Implementations bool

	modules []moduleRule // of Own; the others are of the kinds after them
	cells   []cellRule
	layers  map[string][]layerRule // by class
	apis    []apiRule
	exact   []exactRule // ops and tensors, by their full names
	values  []valueRule // values of modules
	apart   []apartRule // values that the other run has no counterpart of
	casts   []apartRule // values that a run gives in other floats
	sums    []apartRule // values that ranks of a run may leave to be added up
}

// None is the word, in the place of a map, for pairs by names alone.
const None = "none"

// ByNames is a map without lines, by which modules pair by their names alone.
func ByNames() *Map {
	const text = sectionFlatten + ": false\n"
	return &Map{File: None, Text: text, Digest: schemas.FormatID(xxh3.HashString(text)), Kind: Own, layers: map[string][]layerRule{}}
}

// Line is a line of a mapping file.
type Line struct {
	Number int
	Text   string
}

// Read reads the mapping file of that path.
func Read(path string) (*Map, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read mapping: %w", err)
	}
	return Parse(path, content)
}

// Parse reads the content of a mapping file, ours or one of msProbe's; name is the file's, for errors.
func Parse(name string, content []byte) (*Map, error) {
	root, err := strictyaml.Parse(name, content)
	if err != nil {
		return nil, err
	}
	m := &Map{File: name, Text: string(content), Digest: schemas.FormatID(xxh3.Hash(content)), layers: map[string][]layerRule{}}
	if root.IsList() {
		m.Kind = API
		return m, m.readAPIs(root)
	}
	fields, err := root.Fields()
	if err != nil {
		return nil, err
	}
	if len(fields) == 0 {
		return nil, root.Errorf("the mapping is empty")
	}
	m.Kind = kindOf(fields)
	switch m.Kind {
	case Data:
		err = m.readData(fields)
	case Cell:
		err = m.readCells(fields)
	case Layer:
		err = m.readLayers(fields)
	case Own, API:
		err = m.readOwn(root)
	}
	return m, err
}

// The sections of a file of ours.
const (
	sectionModules = "modules"
	sectionOps     = "ops"
	sectionTensors = "tensors"
	sectionFlatten = "flatten"
	sectionName    = "name"
	sectionValues  = "values"
	sectionStreams = "streams"
	sectionApart   = "apart"
	sectionCasts   = "casts"
	sectionSums    = "sums"
	sectionTwo     = "implementations"
)

func sections() []string {
	return []string{sectionModules, sectionOps, sectionTensors, sectionFlatten, sectionName, sectionValues, sectionStreams, sectionApart, sectionCasts, sectionSums, sectionTwo}
}

// kindOf tells the kinds of files apart by their keys and values. A section that is misspelt is one of ours.
func kindOf(fields []strictyaml.Field) Kind {
	texts, tensors := 0, 0
	for _, f := range fields {
		key, _ := f.Key.Text()
		if strictyaml.Nearest(key, sections()) != "" && strings.ToLower(key) == key && !strings.Contains(key, ".") {
			return Own
		}
		if _, err := f.Value.Text(); err == nil {
			texts++
		}
		if _, _, ok := cutTensor(key); ok {
			tensors++
		}
	}
	switch {
	case texts < len(fields):
		return Layer
	case tensors == len(fields):
		return Data
	}
	return Cell
}

// line takes down a line of the file, and returns its index.
func (m *Map) line(f strictyaml.Field) int {
	key, _ := f.Key.Text()
	value, _ := f.Value.Text()
	return m.add(f.Key.Line(), key+": "+value)
}

func (m *Map) add(number int, text string) int {
	m.Lines = append(m.Lines, Line{Number: number, Text: text})
	return len(m.Lines) - 1
}

func (m *Map) readOwn(root strictyaml.Node) error {
	keys, err := root.Keys(sections()...)
	if err != nil {
		return err
	}
	for _, section := range []struct {
		name string
		read func(strictyaml.Field) error
	}{
		{sectionModules, m.readModule},
		{sectionOps, m.readOp},
		{sectionTensors, m.readTensor},
		{sectionValues, m.readValue},
		{sectionStreams, m.readStream},
		{sectionApart, m.readApart},
		{sectionCasts, m.readOneSided(sectionCasts, &m.casts)},
		{sectionSums, m.readOneSided(sectionSums, &m.sums)},
	} {
		node, ok := keys[section.name]
		if !ok {
			continue
		}
		fields, err := node.Fields()
		if err != nil {
			return err
		}
		for _, f := range fields {
			if err := section.read(f); err != nil {
				return err
			}
		}
	}
	return m.readWhole(keys)
}

// readWhole reads what holds for the whole map.
func (m *Map) readWhole(keys map[string]strictyaml.Node) (err error) {
	for name, into := range map[string]*bool{sectionFlatten: &m.Flatten, sectionTwo: &m.Implementations} {
		if node, ok := keys[name]; ok {
			if *into, err = node.Bool(); err != nil {
				return err
			}
		}
	}
	if node, ok := keys[sectionName]; ok {
		m.Name, err = node.Text()
	}
	return err
}

// texts are key and value of a line.
func texts(f strictyaml.Field) (key, value string, err error) {
	if key, err = f.Key.Text(); err != nil {
		return "", "", err
	}
	value, err = f.Value.Text()
	return key, value, err
}
