package result

import (
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/rows"
)

// Detail by which a run may record more than the other: ops inside of modules, and their calls.
const (
	levelModule = "module"
	levelAPI    = "api"
	levelATen   = "aten"
)

// sideLevels are the levels of the ops that a run recorded at a place.
type sideLevels map[string]bool

// markDetail separates ops that one run recorded in more detail from ops that it alone has: detail may be switched on
// for some steps, by a request or by the first NaN. It is detail where the other run has no op at all of that level
// in the step, does not record it by its own declaration, and modules are on both sides.
func (p *Placed) markDetail() {
	detail := p.detail()
	for i := range p.judged {
		j := &p.judged[i]
		if j.Class == judge.Unpaired && detail[j.InProblem][p.level(j)] {
			j.Class, j.Reason = judge.Unknown, judge.ReasonMoreDetail
		}
	}
}

func (p *Placed) level(j *judge.Judged) string {
	return p.names.op(p.names.site(j.Own().SiteID).OpID).Level
}

// detail are the levels that only the problem, or only the bench, recorded.
func (p *Placed) detail() map[bool]sideLevels {
	if !p.anyUnpaired() {
		return nil
	}
	recorded := map[bool]sideLevels{true: {}, false: {}}
	modules := false
	for i := range p.judged {
		j := &p.judged[i]
		level := p.level(j)
		modules = modules || j.Paired() && level == levelModule
		if j.InProblem {
			recorded[true][level] = true
		}
		if j.InBench {
			recorded[false][level] = true
		}
	}
	if !modules {
		return nil
	}
	return map[bool]sideLevels{
		true:  moreThan(recorded[true], recorded[false], p.names.bench),
		false: moreThan(recorded[false], recorded[true], p.names.problem),
	}
}

func (p *Placed) anyUnpaired() bool {
	for i := range p.judged {
		if p.judged[i].Class == judge.Unpaired {
			return true
		}
	}
	return false
}

// moreThan are the levels that one side has and the other, a run, has not and does not promise.
func moreThan(own, other sideLevels, run *rows.Run) sideLevels {
	more := sideLevels{}
	for _, level := range []string{levelAPI, levelATen} {
		more[level] = own[level] && !other[level] && !promises(run.Described.Level, level)
	}
	return more
}

// promises says whether a run that was recorded at a level has the ops of another in every step.
func promises(recorded, level string) bool {
	switch recorded {
	case "L1", "mix":
		return level == levelAPI
	case "aten":
		return level == levelATen
	}
	return false
}
