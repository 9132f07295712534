package system

import (
	"context"
	"encoding/json"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/schemas"
)

// payloadBatch keeps a message far below what a stream takes, with messages of any length.
const payloadBatch = 1000

// publishRaw sends the rows under ids that follow from their content.
func (c *Client) publishRaw(ctx context.Context, raw *rawTensors) error {
	publisher, err := (&publishing{client: c}).newPublisher()
	if err != nil {
		return err
	}
	id := schemas.Identity{RunID: raw.runs[0], Epoch: raw.content()}
	rows := schemas.NewBuilder[schemas.PayloadErrorRow]()
	for i := range raw.rows {
		rows.Append(&raw.rows[i])
		if rows.Len() < payloadBatch && i+1 < len(raw.rows) {
			continue
		}
		if err := publishBatch(ctx, publisher, rows, id); err != nil {
			return err
		}
		id.Batch++
	}
	return publisher.Flush(ctx)
}

// content is the hash of all rows.
func (r *rawTensors) content() uint64 {
	hasher := xxh3.New()
	for i := range r.rows {
		r := &r.rows[i]
		key, _ := json.Marshal([]any{r.ProblemRunID, r.BenchRunID, r.Rank, r.Step, r.ProblemSiteID, r.BenchSiteID, r.ElementCount, r.SameBits, r.Message})
		_, _ = hasher.Write(key) // a hash never fails
		for _, v := range []*float64{r.Cosine, r.RelativeL2, r.L2Distance, r.MaxAbsolute, r.MaxRelative, r.ThousandthRatio, r.FiveThousandthRatio} {
			_, _ = hasher.WriteString(number(v) + "\x1f") // not as JSON, which knows no infinity
		}
	}
	return hasher.Sum64()
}
