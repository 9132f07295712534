package rows

import (
	"math"
	"testing"

	"github.com/tensortap/tensortap/schemas"
)

func TestAnEarlyZeroKeepsItsSign(t *testing.T) {
	t.Parallel()
	var tensors Tensors
	tensors.Append(&schemas.TensorRow{})
	tensors.Append(&schemas.TensorRow{ValueMin: math.Copysign(0, -1)})
	tensors.Append(&schemas.TensorRow{ValueMin: math.NaN()})
	if first, second, third := tensors.At(0), tensors.At(1), tensors.At(2); math.Signbit(first.Min) || !math.Signbit(second.Min) || !math.IsNaN(third.Min) {
		t.Errorf("minima %v, %v, %v, want 0, -0, NaN", first.Min, second.Min, third.Min)
	}
	if tensors.Max != nil || tensors.Seq != nil {
		t.Error("a column of zeros takes memory")
	}
}
