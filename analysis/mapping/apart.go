package mapping

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tensortap/tensortap/internal/strictyaml"
	"github.com/tensortap/tensortap/schemas"
)

// The sides of a comparison, as keys of reasons.
const (
	sideProblem = "problem"
	sideBench   = "bench"
)

// apartRule is a line that sets values of one run apart that the other has no counterpart of.
type apartRule struct {
	pattern *pattern
	class   string // of the module; empty for any
	place   tensorPlace
	reason  string
	side    string
}

// readApart reads reasons, with a list for each run: a module, then, where only some are meant, `as CLASS` and the place.
func (m *Map) readApart(f strictyaml.Field) error {
	reason, err := f.Key.Text()
	if err != nil {
		return err
	}
	sides, err := f.Value.Keys(sideProblem, sideBench)
	if err != nil {
		return err
	}
	for side, node := range sides {
		if m.apart, err = appendLines(m.apart, side, node, reason); err != nil {
			return err
		}
	}
	return nil
}

// readOneSided reads a section with a list of values for each run, as those set apart.
func (m *Map) readOneSided(section string, into *[]apartRule) func(strictyaml.Field) error {
	return func(f strictyaml.Field) error {
		side, err := f.Key.Text()
		if err != nil {
			return err
		}
		if side != sideProblem && side != sideBench {
			return f.Key.Errorf("%q is no side: want %s or %s", side, sideProblem, sideBench)
		}
		*into, err = appendLines(*into, side, f.Value, section)
		return err
	}
}

// appendLines reads a list of values of a side.
func appendLines(rules []apartRule, side string, node strictyaml.Node, reason string) ([]apartRule, error) {
	lines, err := node.Texts()
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		r, err := apartFrom(line)
		if err != nil {
			return nil, node.Errorf("%v", err)
		}
		r.reason, r.side = reason, side
		rules = append(rules, r)
	}
	return rules, nil
}

func apartFrom(line string) (r apartRule, err error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return r, errors.New("a module is missing")
	}
	if r.pattern, err = parsePattern(words[0]); err != nil {
		return r, err
	}
	words = words[1:]
	if len(words) > 1 && words[0] == "as" {
		r.class, words = words[1], words[2:]
	}
	if len(words) > 0 {
		r.place = placeFrom(words[0])
	}
	if r.pattern.joins() || len(words) > 1 || len(words) == 1 && r.place.role == "" {
		return r, fmt.Errorf("%q: want a module, then `as CLASS`, then a place, as output or input.0; the last two may be missing", line)
	}
	return r, nil
}

// fits says whether a value is set apart: at that place, or below it.
func (r *apartRule) fits(op *schemas.OpRow, role, path string) bool {
	if r.class != "" && r.class != op.ClassOrAPI || r.place.role != "" && r.place.role != role {
		return false
	}
	below, ok := strings.CutPrefix(path, r.place.path)
	if !ok || r.place.path != "" && below != "" && below[0] != '.' {
		return false
	}
	found, ok := r.pattern.find(op.ModulePath)
	return ok && found.rest == ""
}

// of are the lines of one side.
func of(all []apartRule, side string) []*apartRule {
	var rules []*apartRule
	for i := range all {
		if r := &all[i]; r.side == side {
			rules = append(rules, r)
		}
	}
	return rules
}

// setApart finds the values of a run that lines name, with the reasons.
func (v *view) setApart(apart map[uint64]string, rules []*apartRule, of names, renamed map[uint64]uint64) {
	if len(rules) == 0 {
		return
	}
	for id := range of.ops {
		op := v.recorded.Ops[id]
		if op == nil || op.Level != schemas.LevelModule {
			continue
		}
		for _, site := range v.sites[id] {
			at := v.recorded.Sites[site]
			for _, r := range rules {
				if r.fits(op, at.Role, at.Path) {
					apart[schemas.SiteID(seenAs(renamed, id), at.Role, at.Path)] = r.reason
					break
				}
			}
		}
	}
}

// Apart are the sites of problem and bench that have no counterpart, with the reasons. It is known once the runs were read.
func (s *Source) Apart() [2]map[uint64]string { return s.named.apart }

// Casts are the sites of problem and bench whose values that run gives in floats of another width. They are known with Apart.
func (s *Source) Casts() [2]map[uint64]string { return s.named.casts }

// Sums are the sites of problem and bench whose values ranks of that run may leave to be added up. They are known with Apart.
func (s *Source) Sums() [2]map[uint64]string { return s.named.sums }
