package report

import (
	"fmt"
	"strings"
)

// Calibration tells of another run of the bench's program, by which the tolerance was measured. It counts inputs, outputs and
// parameters of the program, each once for all steps.
type Calibration struct {
	Run        string  `json:"run"`
	Measured   uint64  `json:"measured"`
	Widened    uint64  `json:"widened"`            // of these: may differ by more than by dtype and depth
	Faulty     uint64  `json:"faulty"`             // of these: differ by more than rounding may, or are not finite; judged by dtype and depth
	Unmeasured uint64  `json:"unmeasured"`         // without a counterpart of their shape; judged by dtype and depth
	Greatest   float64 `json:"greatest_tolerance"` // of the widened
	Most       float64 `json:"most"`               // how many times the tolerance by dtype and depth one may be
	FirstFault string  `json:"first_fault"`        // op; empty for none
}

// words is the calibration in a few sentences.
func (c *Calibration) words() string {
	said := []string{fmt.Sprintf("run %s measures %s of %s tensors of the bench's program", Printable(c.Run), thousands(c.Measured), thousands(c.Measured+c.Unmeasured))}
	if c.Widened > 0 {
		said = append(said, fmt.Sprintf("%s may differ by more than by dtype and depth, up to %.2g", thousands(c.Widened), c.Greatest))
	} else {
		said = append(said, "none may differ by more than by dtype and depth")
	}
	if c.Faulty > 0 {
		said = append(said, fmt.Sprintf("%s differ in it by more than %g times that, first those of %s, and widen nothing", thousands(c.Faulty), c.Most, Printable(c.FirstFault)))
	}
	return strings.Join(said, "; ")
}
