package report

import (
	"fmt"
	"slices"

	"github.com/tensortap/tensortap/schemas"
)

// complete names the gaps that hide the verdict.
func (a *advice) complete() {
	tally := a.Summary.Tally()
	switch a.doubt() {
	case nothingRecorded:
		a.say("leave out --steps and --rank, or record a step of both runs")
	case nothingInCommon, mostStandAlone:
		a.inCommon(&tally)
	case nothingMeasured:
		a.say("record both with statistics: of what is there, only names and shapes are known")
	case notAllThere, notReadWhole, rawNotRead:
		a.whole()
	case someStandAlone:
		a.bothHave()
	case onlyChecksumsDiffer:
		a.prove()
	case bothNotFinite:
		if a.BadAlone[0] == 0 { // else it is said already
			a.command("overflow %s%s", a.ProblemArgument, a.Asked.forOverflow())
		}
	case onlyChance:
		a.say("record more of both runs: nothing that was computed is in it")
	case noDoubt:
	}
	a.alone()
}

// inCommon says how to compare runs without a tensor in common.
func (a *advice) inCommon(tally *Tally) {
	problem, bench := a.Recorded[0].Steps, a.Recorded[1].Steps
	switch {
	case a.WarningCount > 0:
		a.whole()
	case tally.AloneUnknown > 0 && len(problem) > 0 && len(bench) > 0 && problem[0] != bench[0]:
		asked := a.Asked
		asked.StepOffset = int64(bench[0]) - int64(problem[0])
		a.compareAs(asked, "")
	case tally.AloneUnknown > 0:
		a.say("record the same steps and ranks of both runs")
	case a.Asked.Map != "":
		a.say("correct the lines of %s that made no pair", Argument(a.Asked.Map))
	default:
		a.compare(" --suggest-map > map.yaml")
		asked := a.Asked
		asked.Map = "map.yaml"
		a.compareAs(asked, "")
	}
}

// whole says how to get the missing rows.
func (a *advice) whole() {
	switch {
	case a.WarningCount > 0:
		a.say("put right what the warnings name, or dump it again")
	case a.Recorded[0].Live || a.Recorded[1].Live:
		a.say("wait until both runs have ended, then compare again")
	case a.Stored:
		a.command("report completeness --run %s", a.ProblemArgument)
		a.command("report completeness --run %s", a.BenchArgument)
	default:
		a.say("dump again what is missing")
	}
}

// bothHave compares the first steps without gap that both runs have on all ranks, if there are any.
func (a *advice) bothHave() {
	first, last, any := a.commonSteps()
	if !any {
		a.say("record the same steps and ranks of both runs")
		return
	}
	asked := a.Asked
	asked.Steps = fmt.Sprint(first)
	if first != last {
		asked.Steps = fmt.Sprintf("%d-%d", first, last)
	}
	a.compareAs(asked, "")
}

func (a *advice) commonSteps() (first, last uint32, any bool) {
	alone := map[uint32]float64{}
	for i := range a.Summary.Rows {
		alone[uint32(a.Summary.Get(i, "step").Number)] += a.Summary.Get(i, "alone_unknown_count").Number
	}
	for _, step := range a.Recorded[0].Steps {
		n, judged := alone[step]
		switch {
		case judged && n == 0 && (!any || step == last+1):
			if !any {
				first, any = step, true
			}
			last = step
		case any:
			return first, last, any
		}
	}
	return first, last, any
}

// prove says which evidence would prove that the runs are the same, or that they are not.
func (a *advice) prove() {
	const why = "statistics prove differences, these prove equality"
	switch {
	case a.Recorded[0].hasTensors() && a.Recorded[1].hasTensors():
		a.compareAs(a.Asked.withPayload(a.Stored), "")
	case a.Recorded[0].Live && a.Recorded[1].Live:
		a.command("capture --run %s --steps 2", a.ProblemArgument)
		a.command("capture --run %s --steps 2", a.BenchArgument)
	case a.both(schemas.SourceMsprobe):
		a.say(`dump both with "task": "tensor" in config.json and add --payload to this comparison: ` + why)
	case slices.ContainsFunc(a.Recorded[:], func(r Recorded) bool { return r.Source == schemas.SourceMsprobe }):
		a.say("record both with one tool, with digests or raw tensors: " + why)
	default:
		a.say("record both with sketches or digests (TENSORTAP_SKETCH=1, TENSORTAP_DIGEST=1): " + why)
	}
}

// hasTensors says whether raw tensors lie beside the recorded rows.
func (r *Recorded) hasTensors() bool {
	return r.Source == schemas.SourceSGLangDumper || r.Source == schemas.SourceMsprobe && r.Task == "tensor"
}
