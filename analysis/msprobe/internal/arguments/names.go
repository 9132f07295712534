package arguments

import (
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Named is a tensor, or other argument, of an op by its names.
type Named struct {
	SiteID, OpID   uint64
	Op, Role, Path string
	Name           string // of the row
	Key            string // the same, but calls of backward ops are counted anew in the order in which they ran
	isPeer         bool   // names a rank
}

// program names what the ops of a program took and gave.
type program struct {
	id          uint64
	definitions *rows.Definitions
	keeps       func(site uint64) bool
	keys        map[uint64]string // of ops
	sites       map[uint64]*Named // nil for those without a row
}

func newProgram(definitions *rows.Definitions, id uint64, keeps func(site uint64) bool) *program {
	return &program{
		id: id, definitions: definitions, keeps: keeps,
		keys: keysOf(definitions, definitions.Programs[id]), sites: map[uint64]*Named{},
	}
}

// keysOf are the keys of the ops that msProbe knows.
func keysOf(definitions *rows.Definitions, calls []schemas.ProgramRow) map[uint64]string {
	keys := make(map[uint64]string, len(calls))
	ran := map[string]int{} // calls of each backward op
	for _, call := range calls {
		name := definitions.Op(call.OpID).Name
		parts := opParts(name)
		key, known := name, parts.isOther()
		if parts.isBackward() {
			key, known = parts.backwardKey(ran[parts.base]), true
			ran[parts.base]++
		}
		if _, twice := keys[call.OpID]; known && !twice {
			keys[call.OpID] = key
		}
	}
	return keys
}

// parts are those of the name of an op: the last two, and all before them.
type parts struct{ name, base, secondLast, last string }

func opParts(name string) parts {
	p := parts{name: name}
	var found bool
	if p.base, p.last, found = cutLast(name); !found {
		return parts{name: name, last: name}
	}
	if p.base, p.secondLast, found = cutLast(p.base); !found {
		p.base, p.secondLast = "", p.base
	}
	return p
}

func cutLast(text string) (before, after string, found bool) {
	i := strings.LastIndexByte(text, '.')
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

func (p *parts) isOther() bool {
	return isForwardPart(p.last) || isForwardPart(p.secondLast)
}

func isForwardPart(part string) bool { return part == "forward" || part == "parameters_grad" }

func (p *parts) isBackward() bool {
	return !p.isOther() && (p.last == "backward" || p.secondLast == "backward")
}

func (p *parts) backwardKey(call int) string {
	number := strconv.Itoa(call)
	switch {
	case isNumber(p.last):
		return p.base + "." + p.secondLast + "." + number
	case isNumber(p.secondLast):
		return p.base + "." + number + "." + p.last
	}
	return p.name
}

func isNumber(part string) bool { return part != "" && strings.Trim(part, "0123456789") == "" }

// named is nil where there is no row: the op is not of the program, or it is msProbe's own verdict on its outputs.
func (p *program) named(siteID uint64) *Named {
	if n, known := p.sites[siteID]; known {
		return n
	}
	n := p.name(siteID)
	p.sites[siteID] = n
	return n
}

func (p *program) name(siteID uint64) *Named {
	site := p.definitions.Sites[siteID]
	key, known := p.keys[site.OpID]
	if !known || site.Role == "output" && site.Path == "is_nan" {
		return nil
	}
	op := p.definitions.Op(site.OpID).Name
	suffix := p.suffix(&site)
	return &Named{
		SiteID: siteID, OpID: site.OpID, Op: op, Role: site.Role, Path: site.Path,
		Name: op + suffix, Key: key + suffix, isPeer: namesPeer(site.Path),
	}
}

// suffix is what follows the op in the name of a row. Where the tensor itself was kept, the row is named by the file,
// which says kwargs.
func (p *program) suffix(site *schemas.SiteRow) string {
	suffix := map[string]string{"input": ".input", "kwarg": ".input", "parameter": ".parameters", "output": ".output"}[site.Role]
	if site.Role == "kwarg" && p.keeps(site.SiteID) {
		suffix = ".kwargs"
	}
	if site.Path != "" {
		suffix += "."
	}
	return suffix + site.Path
}

// namesPeer says whether a path ends in the name of an argument that is a rank.
func namesPeer(path string) bool {
	switch path[strings.LastIndexByte(path, '.')+1:] {
	case "src", "dst", "group_src", "group_dst":
		return true
	}
	return false
}
