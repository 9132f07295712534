// Package speedscope reads and writes the files of stacks that speedscope.app shows, and those that flame graphs are made of.
package speedscope

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// Schema names the format.
const Schema = "https://www.speedscope.app/file-format-schema.json"

// File is one file.
type File struct {
	Schema   string    `json:"$schema"`
	Name     string    `json:"name,omitempty"`
	Exporter string    `json:"exporter,omitempty"`
	Active   *int      `json:"activeProfileIndex,omitempty"`
	Shared   Shared    `json:"shared"`
	Profiles []Profile `json:"profiles"`
}

// Shared holds what profiles name by index.
type Shared struct {
	Frames []Frame `json:"frames"`
}

// Frame is a place in a program.
type Frame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Col  int    `json:"col,omitempty"`
}

// Profile is the stacks of one thread in the order of time, each with its frames, outermost first, and how long it was there.
type Profile struct {
	Type       string    `json:"type"`
	Name       string    `json:"name"`
	Unit       string    `json:"unit"`
	StartValue float64   `json:"startValue"`
	EndValue   float64   `json:"endValue"`
	Samples    [][]int   `json:"samples"`
	Weights    []float64 `json:"weights"`
}

// Parse reads a file of sampled profiles. A key that is not known, or a frame that is not there, is an error.
func Parse(text []byte) (*File, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var f File
	if err := decoder.Decode(&f); err != nil {
		return nil, fmt.Errorf("read stacks: %w", err)
	}
	if f.Schema != Schema {
		return nil, fmt.Errorf("read stacks: schema %q, want %q", f.Schema, Schema)
	}
	for i := range f.Profiles {
		if err := f.Profiles[i].check(len(f.Shared.Frames)); err != nil {
			return nil, fmt.Errorf("read stacks: profile %q: %w", f.Profiles[i].Name, err)
		}
	}
	return &f, nil
}

func (p *Profile) check(frames int) error {
	if p.Type != "sampled" || p.Unit != "seconds" || len(p.Samples) != len(p.Weights) || p.EndValue < p.StartValue {
		return fmt.Errorf("type %q, unit %q, %d samples, %d weights, from %v to %v", p.Type, p.Unit, len(p.Samples), len(p.Weights), p.StartValue, p.EndValue)
	}
	for _, stack := range p.Samples {
		if slices.ContainsFunc(stack, func(frame int) bool { return frame < 0 || frame >= frames }) {
			return fmt.Errorf("a stack %v, of %d frames", stack, frames)
		}
	}
	return nil
}

// Add takes in the profiles of another file, whose names get the prefix.
func (f *File) Add(other *File, prefix string) {
	known := make(map[Frame]int, len(f.Shared.Frames))
	for i, frame := range f.Shared.Frames {
		known[frame] = i
	}
	places := make([]int, len(other.Shared.Frames))
	for i, frame := range other.Shared.Frames {
		at, ok := known[frame]
		if !ok {
			at = len(f.Shared.Frames)
			known[frame], f.Shared.Frames = at, append(f.Shared.Frames, frame)
		}
		places[i] = at
	}
	for _, p := range other.Profiles { //nolint:gocritic // copied to be changed
		p.Name, p.Samples = prefix+p.Name, slices.Clone(p.Samples)
		for i, stack := range p.Samples {
			moved := make([]int, len(stack))
			for k, frame := range stack {
				moved[k] = places[frame]
			}
			p.Samples[i] = moved
		}
		f.Profiles = append(f.Profiles, p)
	}
}

// Write writes the file as speedscope reads it.
func (f *File) Write(out io.Writer) error { return json.NewEncoder(out).Encode(f) }

// WriteFolded writes a line for each stack of a profile, with its milliseconds, as flame graphs are made of.
func (f *File) WriteFolded(out io.Writer) error {
	seconds := map[string]float64{}
	for i := range f.Profiles {
		p := &f.Profiles[i]
		for k, stack := range p.Samples {
			seconds[f.folded(p.Name, stack)] += p.Weights[k]
		}
	}
	for _, stack := range slices.Sorted(maps.Keys(seconds)) {
		if _, err := fmt.Fprintf(out, "%s %d\n", stack, max(1, int64(math.Round(seconds[stack]*1000)))); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) folded(name string, stack []int) string {
	parts := []string{onePart(name)}
	for _, at := range stack {
		frame := f.Shared.Frames[at]
		part := frame.Name
		if frame.File != "" {
			part = fmt.Sprintf("%s (%s:%d)", frame.Name, frame.File, frame.Line)
		}
		parts = append(parts, onePart(part))
	}
	return strings.Join(parts, ";")
}

func onePart(text string) string {
	return strings.NewReplacer(";", ":", "\n", " ", "\r", " ").Replace(text)
}
