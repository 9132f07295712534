package result

import (
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// sameTensor says whether two observations of one run are taken for the same tensor: the source of an argument is not
// recorded.
func sameTensor(a, b *rows.Observation) bool {
	if telling(a) && telling(b) {
		return numbersOf(a) == numbersOf(b)
	}
	return a.DigestKind != 0 && a.DigestKind == b.DigestKind && a.Digest == b.Digest
}

func isTaken(site schemas.SiteRow) bool { return site.Role == "input" || site.Role == "kwarg" }

// givers names the ops of one run only that gave the argument that is shown.
func (p *Placed) givers(shown *judge.Judged) []string {
	if !isTaken(p.names.site(shown.Problem.SiteID)) || !shown.Paired() {
		return nil
	}
	var found []string
	for i := range p.judged {
		j := &p.judged[i]
		if j.Paired() || !gaveAlone(j, shown) {
			continue
		}
		site := p.names.site(j.Own().SiteID)
		where := " only in bench"
		if j.InProblem {
			where = " only in problem"
		}
		if name := p.names.definitions.OpName(j.Own().SiteID) + where; isGiven(site) && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// gaveAlone says whether a tensor that one run has alone is an input of that run's op.
func gaveAlone(j, shown *judge.Judged) bool {
	if j.InProblem {
		return j.Problem.Seq < shown.Problem.Seq && sameTensor(&j.Problem, &shown.Problem)
	}
	return j.Bench.Seq < shown.Bench.Seq && sameTensor(&j.Bench, &shown.Bench)
}

// fromOutside says whether the argument came from outside of the model: no op returned it before, and it is an input
// of an op that no module called, or the same tensor as such an input.
func (p *Placed) fromOutside(shown *judge.Judged) bool {
	site := p.names.site(shown.Problem.SiteID)
	if !isTaken(site) {
		return false
	}
	handedIn := p.isEntry(site, &shown.Problem)
	for i := range p.judged {
		j := &p.judged[i]
		if !j.InProblem || !sameTensor(&j.Problem, &shown.Problem) {
			continue
		}
		other := p.names.site(j.Problem.SiteID)
		if isGiven(other) && j.Problem.Seq < shown.Problem.Seq {
			return false
		}
		handedIn = handedIn || isTaken(other) && p.isEntry(other, &j.Problem)
	}
	return handedIn
}

// isEntry says whether tensors enter a model by this argument, as far as no op returned it: inputs of an op that no
// module called, be it the model itself or an op beside it, or whole numbers that a call takes, such as ids of
// tokens, since calls are recorded there. A tensor that autograd follows is no data. Of gradients only a loss's is, a
// single number.
func (p *Placed) isEntry(site schemas.SiteRow, o *rows.Observation) bool {
	op, layout := p.names.op(site.OpID), p.names.layout(o.LayoutID)
	switch {
	case p.names.parent(p.at, site.OpID, false) != 0:
		return op.Level != schemas.LevelModule && op.Phase == schemas.PhaseForward && isWhole(layout.Dtype)
	case op.Phase == schemas.PhaseBackward:
		return o.ElementCount == 1
	}
	return op.Level == schemas.LevelModule || layout.RequiresGrad == nil || *layout.RequiresGrad != 1
}

// isWhole says whether tensors of a dtype hold whole numbers or truth values. Names of torch and of MindSpore occur.
func isWhole(dtype string) bool {
	lower := strings.ToLower(dtype)
	return strings.Contains(lower, "int") || strings.Contains(lower, "bool")
}
