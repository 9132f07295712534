package corpus_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/corpus"
	"github.com/tensortap/tensortap/internal/system"
)

// paired is the ops of two programs: the partner of each of the problem's, empty for none, and those of the bench alone.
type paired struct {
	partner map[string]string
	alone   []string
}

// pairs reads how the ops of a case were paired.
func (b *bench) pairs(ctx context.Context, c corpus.Case) (paired, error) {
	p := paired{partner: map[string]string{}}
	if err := b.publish(ctx, c); err != nil {
		return p, err
	}
	request := system.DefaultCompareRequest()
	request.Problem, request.Benches = c.Problem.Name, []string{c.Bench.Name}
	ops, err := b.Pairing(ctx, request)
	for i := range ops {
		if ops[i].ProblemOp == "" {
			p.alone = append(p.alone, ops[i].BenchOp)
			continue
		}
		p.partner[ops[i].ProblemOp] = ops[i].BenchOp
	}
	return p, err
}

// caseOf makes one case.
func caseOf(t *testing.T, id string) corpus.Case {
	t.Helper()
	for c, err := range library(t).Cases() {
		if err != nil || c.ID == id {
			return c
		}
	}
	t.Fatalf("no case is called %s", id)
	return corpus.Case{}
}

// TestOpsArePairedWithTheirTruePartners looks at two harmless pairs of different programs.
func TestOpsArePairedWithTheirTruePartners(t *testing.T) {
	t.Parallel()
	extra, eager := caseOf(t, "B05"), caseOf(t, "B10")
	withBench(t, func(ctx context.Context, b *bench) error {
		p, err := b.pairs(ctx, extra)
		if err != nil {
			return err
		}
		extraCalls(t, extra, p)
		if p, err = b.pairs(ctx, eager); err != nil {
			return err
		}
		outsideAttention(t, eager, p)
		rows, err := b.judged(ctx, eager)
		for _, op := range divergedOps(rows) {
			if !inAttention(eager.Problem.Run.Part(0, 0), op) {
				t.Errorf("eager against sdpa: %s is outside of attention and is said to diverge", op)
			}
		}
		return err
	})
}

// extraCalls: all numbers are the same but for two more calls, so a true partner has the same rows and the same parent.
func extraCalls(t *testing.T, c corpus.Case, p paired) {
	t.Helper()
	problem, bench := c.Problem.Run.Part(0, 0), c.Bench.Run.Part(0, 0)
	for _, op := range problem.Ops().Keys {
		partner, parent := p.partner[op], parentOf(problem, op)
		switch {
		case partner == "" && !strings.HasPrefix(parent, "Module.model.layers.1.mlp.LlamaMLP."):
			t.Errorf("extra calls: %s has no partner, but the calls were put into layers.1.mlp", op)
		case partner == "":
		case parent != parentOf(bench, partner) || problem.Ops().Get(op).String() != bench.Ops().Get(partner).String():
			t.Errorf("extra calls: the partner of %s is %s, which is in another place or has other numbers", op, partner)
		}
	}
	if len(p.alone) > 0 {
		t.Errorf("extra calls: %v are in the bench alone", p.alone)
	}
	if extra := len(problem.Ops().Keys) - len(bench.Ops().Keys); countAlone(problem, p) != extra {
		t.Errorf("extra calls: %d ops of the problem have no partner, want %d", countAlone(problem, p), extra)
	}
}

func countAlone(part *corpus.Part, p paired) int {
	n := 0
	for _, op := range part.Ops().Keys {
		if p.partner[op] == "" {
			n++
		}
	}
	return n
}

// outsideAttention: but for the mask, which eager attention needs as numbers, all is as in the bench.
func outsideAttention(t *testing.T, c corpus.Case, p paired) {
	t.Helper()
	problem, bench := c.Problem.Run.Part(0, 0), c.Bench.Run.Part(0, 0)
	for _, op := range problem.Ops().Keys {
		partner := p.partner[op]
		switch {
		case inAttention(problem, op), op == "Torch.where.0.forward" && partner == "":
		case partner == "":
			t.Errorf("eager against sdpa: %s is outside of attention and has no partner", op)
		case inAttention(bench, partner) || parentOf(problem, op) != parentOf(bench, partner) || apiOf(op) != apiOf(partner):
			t.Errorf("eager against sdpa: the partner of %s is %s", op, partner)
		}
	}
	for _, op := range p.alone {
		if !inAttention(bench, op) && slices.Contains(bench.Ops().Keys, op) {
			t.Errorf("eager against sdpa: %s of the bench is outside of attention and has no partner", op)
		}
	}
}

func parentOf(p *corpus.Part, op string) string {
	if parent := p.Program.Get(op); parent != nil {
		return strings.Trim(parent.Text, `"`)
	}
	return ""
}

// inAttention says whether an op, or the forward call that it is the backward of, is inside an attention module.
func inAttention(p *corpus.Part, op string) bool {
	forward := strings.TrimSuffix(op, ".backward") + ".forward"
	for _, at := range []string{op, forward} {
		for ; at != ""; at = parentOf(p, at) {
			if strings.Contains(at, ".self_attn.") {
				return true
			}
		}
	}
	return false
}

// apiOf is the name of an op without its call index.
func apiOf(op string) string {
	return strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(op, ".forward"), ".backward"), "0123456789")
}
