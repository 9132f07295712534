package origin

import (
	"github.com/tensortap/tensortap/schemas"
)

// Kind is the kind of place at which a difference began.
type Kind string

// The kinds of places.
const (
	Parameter   Kind = "parameter"    // a weight
	Argument    Kind = "argument"     // a literal
	Data        Kind = "data"         // an input that came from outside of the model
	Computed    Kind = "computed"     // the inputs of the op agree, its output does not
	Operation   Kind = "operation"    // an op that only one run has
	UnseenInput Kind = "unseen_input" // an input, and nothing that was recorded says where it came from
	Undefined   Kind = "unknown"      // nothing is known of the place but an id
)

// Facts decide on the kind of a place. A definition that is not known is the zero row.
type Facts struct {
	Differs       bool // not: an op of the problem alone, in which NaN or infinity appears
	Op, BenchOp   *schemas.OpRow
	Site          schemas.SiteRow
	Problem       *schemas.LayoutRow
	Bench         *schemas.LayoutRow
	Parameter     string // of the calling module that has the very values
	BetweenCommon bool   // ops of one run only stand directly before or gave it, or the op is another one in the bench
	FromOutside   bool   // of the model
}

// Kind says which kind of place it is.
func (f *Facts) Kind() Kind {
	taken := f.Site.Role == "input" || f.Site.Role == "kwarg"
	switch {
	case !f.Differs:
		return Operation
	case f.Site.OpID == 0:
		return Undefined
	case isArgument(f.Problem) || isArgument(f.Bench):
		return Argument
	case f.Site.Role == "parameter" || f.Parameter != "":
		return Parameter
	case f.BetweenCommon && (taken || f.Op.Level == "module" || f.Op.ClassOrAPI != f.BenchOp.ClassOrAPI):
		return Operation
	case f.Site.Role == "output" || f.Site.Role == "parameter_gradient":
		return Computed
	case f.weightLike():
		return Parameter
	case f.FromOutside:
		return Data
	}
	return UnseenInput
}

func isArgument(layout *schemas.LayoutRow) bool { return layout.Kind != "tensor" && layout.Kind != "" }

// weightLike says whether an input has the form of a weight: it requires a gradient, and has no shape of an
// activation.
func (f *Facts) weightLike() bool {
	p := f.Problem
	if p.RequiresGrad == nil || *p.RequiresGrad != 1 || f.Op.Phase != "forward" {
		return false
	}
	return len(p.Shape) == 1 || len(p.Shape) == 2 && f.Site.Path != "0"
}
