package system

import (
	"context"
	"fmt"
	"slices"

	"github.com/tensortap/tensortap/analysis/compare"
)

// Pairing says how the ops of two stored runs were paired, and which line of a mapping file did. Without a map it stores
// how the programs were aligned. The error is a pair.TooManyProgramsError where some programs were left to the names of
// their ops; the answer is given all the same.
func (c *Client) Pairing(ctx context.Context, r CompareRequest) ([]compare.PairedOp, error) {
	for _, run := range r.Sides() {
		if err := c.checkNamed(ctx, run); err != nil {
			return nil, err
		}
	}
	job, err := compare.Open(ctx, c.source(), r.choosing(r.Sides()))
	if err != nil {
		return nil, fmt.Errorf("pair the ops of %s with those of %s: %w", r.Problem, r.Bench(), err)
	}
	if job.Map() == nil && len(job.Merges()) == 0 {
		if err := c.publishAlignments(ctx, job); err != nil {
			return nil, fmt.Errorf("store how %s is aligned with %s: %w", r.Problem, r.Bench(), err)
		}
	}
	return job.Pairing(), job.TooManyPrograms()
}

// Unpaired are the ops that stand alone.
func Unpaired(paired []compare.PairedOp) []compare.PairedOp {
	return slices.DeleteFunc(paired, func(p compare.PairedOp) bool { return !p.Alone() })
}
