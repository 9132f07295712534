package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tensortap/tensortap/schemas"
)

// closer records more of the place where it began.
func (a *advice) closer() {
	if len(a.Origins.Rows) == 0 {
		return
	}
	at := narrowed(a.Origins)
	switch {
	case a.Origins.Get(0, "at_or_before").True() && a.anyHidden(): // more of that place shows no more of what is before it
	case a.Recorded[0].Live || a.Recorded[1].Live:
		a.capture(&at)
	case a.both(schemas.SourceMsprobe):
		a.dumpAgain(&at)
	case a.both(schemas.SourceCollector) && a.level() != "mix":
		a.say("record both again with %s run --level mix%s", a.style.program(), at.scope())
	}
}

// both says whether both runs were recorded by one tool.
func (a *advice) both(source string) bool {
	return a.Recorded[0].Source == source && a.Recorded[1].Source == source
}

// level is the level that both runs were recorded at; empty where it is not one.
func (a *advice) level() string {
	if a.Recorded[0].Level != a.Recorded[1].Level {
		return ""
	}
	return a.Recorded[0].Level
}

// capture asks each run that lives for more of the place.
func (a *advice) capture(at *narrowPlace) {
	for i, argument := range []string{a.ProblemArgument, a.BenchArgument} {
		if !a.Recorded[i].Live {
			continue
		}
		more := " --level mix"
		if a.Recorded[i].Level == "mix" {
			more = " --payload"
		}
		a.command("capture --run %s --rank %s --steps 2%s%s", argument, at.rank, more, at.scope())
	}
}

// dumpAgain gives the part of msProbe's config.json that records more of the place, and no more than
// that.
func (a *advice) dumpAgain(at *narrowPlace) {
	list, err := json.Marshal([]string{at.listed})
	if err != nil {
		return
	}
	begin := fmt.Sprintf(`dump both again with "step": [%s], `, at.step)
	switch a.level() {
	case "L0":
		a.say(`%s"level": "mix", "statistics": {"list": %s} in config.json, for the ops of that module`, begin, Printable(string(list)))
	case "L1":
		a.say(`%s"task": "tensor", "tensor": {"list": %s} in config.json, and add --payload to this comparison`, begin, Printable(string(list)))
	}
}

// narrowPlace is the place to record in more detail.
type narrowPlace struct {
	rank, step string
	module     string // path; empty for the whole model
	listed     string // part of the names of all its ops, as msProbe's list takes it
}

// narrowed is the place of the first origin. The source of an input of unseen origin ran in the module that calls
// this one.
func narrowed(origins Table) narrowPlace {
	get := func(column string) string { return origins.Get(0, column).Exact }
	op, path := get("op"), strings.TrimPrefix(get("module"), "-")
	at := narrowPlace{rank: get("rank"), step: get("step"), module: path, listed: withoutCall(op)}
	if get("kind") == "unseen_input" {
		at.module = path[:max(strings.LastIndexByte(path, '.'), 0)]
	}
	if prefix := "Module." + path; path != "" && strings.HasPrefix(op, prefix+".") && at.module != "" {
		at.listed = "Module." + at.module + "."
	}
	return at
}

// withoutCall is the name of an op without its direction and the number of its call.
func withoutCall(op string) string {
	for _, direction := range []string{"forward", "backward", "parameters_grad"} {
		if i := strings.LastIndex(op, "."+direction); i > 0 {
			return op[:i+1]
		}
	}
	return op
}

// scope is the flag that narrows recording to the module; empty for the whole model.
func (p *narrowPlace) scope() string {
	if p.module == "" {
		return ""
	}
	literally := strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(p.module)
	return " --scope " + Argument(literally)
}
