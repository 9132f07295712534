package load

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/schemas"
)

// recording is one recorded step of a rank, which all ranks of the load publish again and again, with other mantissas.
type recording struct {
	definitions []schemas.Message // of ops, sites, layouts and so on
	tensors     []schemas.TensorRow
	step        schemas.StepRow
}

// readRecording reads the first step of a dump.
func readRecording(ctx context.Context, dump string) (*recording, error) {
	found, err := msprobe.Find(dump)
	if err != nil {
		return nil, err
	}
	source, err := msprobe.Open(found.Dumps[0], msprobe.DefaultOptions("load"))
	if err != nil {
		return nil, err
	}
	r := &recording{}
	for m, err := range source.Batches(ctx) {
		if err == nil {
			err = r.add(m)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", dump, err)
		}
	}
	return r, nil
}

func (r *recording) add(m schemas.Message) (err error) {
	switch m.Header.Kind {
	case "tensor":
		r.tensors, err = schemas.AppendRows(r.tensors, m)
	case "step":
		var steps []schemas.StepRow
		if steps, err = schemas.DecodeRows[schemas.StepRow](m); err == nil {
			r.step = steps[0]
		}
	case "run", "rank": // each rank of the load has its own
	default:
		if table, _ := schemas.TableByKind(m.Header.Kind); table.Class == schemas.Definition {
			r.definitions = append(r.definitions, m)
		}
	}
	return err
}

// model is what a rank tells of itself before its first step.
func (r *recording) model(id schemas.Identity, run string, ranks int) ([]schemas.Message, error) {
	size := uint32(ranks) //nolint:gosec // few
	runs, ranked := schemas.NewBuilder[schemas.RunRow](), schemas.NewBuilder[schemas.RankRow]()
	runs.Append(&schemas.RunRow{RunID: id.RunID, Epoch: id.RunID, Name: run, Source: "load", Framework: "pytorch", WorldSize: &size, EventTimeSource: "rank"})
	ranked.Append(&schemas.RankRow{RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, TP: -1, PP: -1, DP: -1, CP: -1, EP: -1})
	first, err := runs.Message(id)
	if err != nil {
		return nil, err
	}
	second, err := ranked.Message(id)
	all := []schemas.Message{first, second}
	batches := map[string]uint64{}
	for _, m := range r.definitions {
		m.Header.Identity = id
		m.Header.Identity.Batch = batches[m.Header.Kind]
		batches[m.Header.Kind]++
		all = append(all, m)
	}
	return all, err
}

// messages are a step of a rank: its tensors, and that it has ended. The tensors are those of the same rank and step of each
// other run, to the bit.
func (r *recording) messages(b *schemas.Builder[schemas.TensorRow, *schemas.TensorRow], id schemas.Identity, due time.Time) (tensors, ended schemas.Message, err error) {
	random := rand.NewPCG(uint64(id.Rank), id.Batch)
	for i := range r.tensors {
		row := r.tensors[i]
		row.RunID, row.Rank, row.Epoch, row.Batch, row.EventTimeNs = id.RunID, id.Rank, id.Epoch, id.Batch, due.UnixNano()
		row.Step, row.Seq = uint32(id.Batch), id.Batch*uint64(len(r.tensors))+uint64(i) //nolint:gosec // few
		for _, v := range []*float64{&row.ValueMin, &row.ValueMax, &row.ValueMean, &row.ValueL2} {
			*v = redrawn(random, *v)
		}
		b.Append(&row)
	}
	if tensors, err = b.Message(id); err != nil {
		return tensors, ended, err
	}
	steps := schemas.NewBuilder[schemas.StepRow]()
	step := r.step
	step.RunID, step.Rank, step.Epoch, step.Batch, step.Step, step.EventTimeNs = id.RunID, id.Rank, id.Epoch, id.Batch, uint32(id.Batch), due.UnixNano() //nolint:gosec // few
	step.TensorCount, step.Complete = uint64(len(r.tensors)), 1
	steps.Append(&step)
	ended, err = steps.Message(id)
	return tensors, ended, err
}

// redrawn is a float32 with other last bits; whole numbers and what is not finite stay.
func redrawn(random *rand.PCG, v float64) float64 {
	if v == math.Trunc(v) || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	return float64(math.Float32frombits(math.Float32bits(float32(v)) ^ uint32(random.Uint64()>>44)))
}
