package corpus_test

import (
	"context"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/corpus"
	"github.com/tensortap/tensortap/internal/system"
)

// TestOverflowBeginsWhereItWasPut asks single runs of four ranks where NaN or infinity began, and one that msProbe recorded.
func TestOverflowBeginsWhereItWasPut(t *testing.T) {
	t.Parallel()
	cases := append(corpus.Overflows(), recordedOverflow(t))
	withBench(t, func(ctx context.Context, b *bench) error {
		for _, c := range cases {
			if err := b.publish(ctx, c); err != nil {
				return err
			}
			request := system.DefaultOverflowRequest()
			request.Run = c.Problem.Name
			said, _, err := b.Overflow(ctx, request)
			if err != nil {
				return err
			}
			checkOverflow(t, c, origins(said.Origins))
		}
		return nil
	})
}

// checkOverflow wants one suspect, the right one, and none of a clean run.
func checkOverflow(t *testing.T, c corpus.Case, got []origin) {
	t.Helper()
	if c.Harmless {
		if len(got) > 0 {
			t.Errorf("%s: suspects are %v, want none", c.ID, got)
		}
		return
	}
	right := len(got) == 1 && slices.Contains(c.Origin.Ranks, got[0].rank) && got[0].step == c.Origin.Step && slices.Contains(c.Origin.Ops, got[0].op)
	if !right {
		t.Errorf("%s (%s): suspects are %v, want one: %s", c.ID, c.What, got, expected(c.Origin))
	}
}

func recordedOverflow(t *testing.T) corpus.Case {
	t.Helper()
	side, err := library(t).Recorded("D_tp_rank1_nan")
	if err != nil {
		t.Fatal(err)
	}
	return corpus.Case{
		ID: "D_tp_rank1_nan", What: "NaN written into the output of layers.1.up on rank 1 at step 1", Problem: side, Bench: side,
		Origin: corpus.Origin{Ranks: []int{1}, Step: 1, Ops: []string{"Tensor.__setitem__.0.forward", "Module.layers.1.up.ColumnParallelLinear.forward.0"}},
	}
}
