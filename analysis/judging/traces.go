package judging

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/spans"
	"github.com/tensortap/tensortap/schemas"
)

// follow begins a span for each step that is judged and whose batch is followed, the first ones of many, and returns what ends
// them.
func (k *Keeper) follow(ctx context.Context, c Comparison, w *writer, judged []pair.Step) (context.Context, func(error)) {
	if k.Tracer == nil {
		return ctx, func(error) {}
	}
	var begun []trace.Span
	for _, at := range judged {
		if span := k.followStep(ctx, c, w.problem, at); span != nil {
			begun = append(begun, span)
		}
		if len(begun) == spans.MostLinks {
			break
		}
	}
	if len(begun) > 0 { // what is published of it leads there
		ctx = trace.ContextWithSpan(ctx, begun[0])
	}
	return ctx, func(err error) {
		for _, span := range begun {
			spans.End(span, err)
		}
	}
}

// followStep is in the trace of the batch that the end of the step came in: a judge reads tables, and sees no message.
func (k *Keeper) followStep(ctx context.Context, c Comparison, problem *rows.Run, at pair.Step) trace.Span {
	end := problem.StepAt(rows.Place{Rank: at.Rank, Step: at.Step})
	if end == nil {
		return nil
	}
	batch := schemas.Message{Header: schemas.Header{Kind: schemas.Step().Kind(), Identity: schemas.Identity{RunID: end.RunID, Rank: end.Rank, Epoch: end.Epoch, Batch: end.Batch}}}
	return spans.Working(ctx, k.Tracer, batch.ID(), "judge",
		attribute.String("tensortap.comparison_id", schemas.FormatID(c.ID())), attribute.String("tensortap.bench", c.Request.Benches[0]),
		attribute.String("tensortap.run", c.Request.Problem), attribute.Int64("tensortap.rank", int64(at.Rank)), attribute.Int64("tensortap.step", int64(at.Step)))
}
