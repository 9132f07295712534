package tensorfiles

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

// place is what a file's name says.
type place struct {
	rank, step       uint32
	hasRank, hasStep bool
	tp, pp           int16  // -1 when it does not say
	op               string // the rest of the name
	hooked           bool   // its keys are paths of modules
	named            bool   // its keys are ops
}

var (
	debuggerFile = regexp.MustCompile(`(?:^|/)(\d{12})_\w*?(\d{1,9})\.tfevents$`) // 000000000020_worker_0: step and worker
	hookFolder   = regexp.MustCompile(`^TP(\d{1,4})_PP(\d{1,4})_Rank(\d{1,9})_pid\d+$`)
	hookFile     = regexp.MustCompile(`^Pass(\d+)$`)
	aRank        = regexp.MustCompile(`(?i)(?:^|[-_.])(?:global[-_]?)?rank[-_=]?(\d{1,9})(?:$|[-_.])`)
	aStep        = regexp.MustCompile(`(?i)(?:^|[-_.])(?:step|iter|iteration|pass)[-_=]?(\d{1,10})(?:$|[-_.])`)
	lastNumber   = regexp.MustCompile(`^(.*?)[-_](\d{1,9})$`)
	aPart        = regexp.MustCompile(`(?i)(?:layers?|blocks?|heads?|experts?|stages?|groups?|chunks?|shards?|micro(?:_?batch|_?step)?|tp|pp|dp|cp|ep)$`)
)

// placeOf reads a path below the folder of all files, with its extension cut off.
func placeOf(name string) place {
	p := place{tp: -1, pp: -1}
	folders, stem := path.Split(name)
	var rest []string
	for folder := range strings.SplitSeq(strings.Trim(folders, "/"), "/") {
		if !p.hook(folder) {
			rest = append(rest, p.take(folder))
		}
	}
	if pass := hookFile.FindStringSubmatch(stem); p.hooked && pass != nil {
		stem = ""
		p.hasStep = number(pass[1], &p.step)
	}
	p.hooked = p.hooked && stem == ""
	rest = append(rest, p.ending(p.take(stem)))
	p.op = strings.Join(strings.FieldsFunc(strings.Join(rest, "."), func(r rune) bool { return r == '.' }), ".")
	return p
}

// placeInTrial is that of a file of SageMaker's debugger: its step, and the number of its worker.
func placeInTrial(parts []string) place {
	p := place{tp: -1, pp: -1, named: true}
	p.hasStep, p.hasRank = number(parts[1], &p.step), number(parts[2], &p.rank)
	return p
}

// hook reads the name of a folder of SGLang's hook.
func (p *place) hook(folder string) bool {
	parts := hookFolder.FindStringSubmatch(folder)
	if parts == nil {
		return false
	}
	tp, _ := strconv.ParseInt(parts[1], 10, 16)
	pp, _ := strconv.ParseInt(parts[2], 10, 16)
	p.tp, p.pp, p.hooked = int16(tp), int16(pp), true //nolint:gosec // four digits
	p.hasRank = number(parts[3], &p.rank)
	return true
}

// take reads rank and step from a part of the path, and returns the rest of it.
func (p *place) take(part string) string {
	part = cut(part, aRank, &p.rank, &p.hasRank)
	return cut(part, aStep, &p.step, &p.hasStep)
}

// cut removes what the pattern finds from a name, once, if its number fits.
func cut(name string, of *regexp.Regexp, into *uint32, known *bool) string {
	at := of.FindStringSubmatchIndex(name)
	if at == nil || *known || !number(name[at[2]:at[3]], into) {
		return name
	}
	*known = true
	return strings.Trim(name[:at[0]]+"_"+name[at[1]:], "_-.")
}

// ending takes a number at the end of a file's name for the step, where none was told, unless it numbers a part of the model.
func (p *place) ending(stem string) string {
	parts := lastNumber.FindStringSubmatch(stem)
	if p.hasStep || parts == nil || aPart.MatchString(parts[1]) || !number(parts[2], &p.step) {
		return stem
	}
	p.hasStep = true
	return parts[1]
}

func number(text string, into *uint32) bool {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return false
	}
	*into = uint32(n)
	return true
}
