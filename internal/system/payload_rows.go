package system

import (
	"context"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/schemas"
)

// payloadBatch keeps a message far below what a stream takes, with messages of any length.
const payloadBatch = 1000

// publishRaw sends the rows that the database does not hold as they are: those of new pairs, and those of which it holds
// another answer.
func (c *Client) publishRaw(ctx context.Context, raw *rawTensors) error {
	stored, err := c.rawErrors(ctx, raw.runs)
	if err != nil {
		return err
	}
	changed := changedRows(raw.rows, stored)
	if len(changed) == 0 {
		return nil
	}
	publisher, err := (&publishing{client: c}).newPublisher()
	if err != nil {
		return err
	}
	defer publisher.Close()
	stream, err := c.streamInfo(ctx)
	if err != nil {
		return err
	}
	// An answer may come back after another: the place in the stream tells them apart.
	id := schemas.Identity{RunID: raw.runs[0], Epoch: contentOf(changed, stream.State.LastSeq)}
	rows := schemas.NewBuilder[schemas.PayloadErrorRow]()
	for i := range changed {
		rows.Append(changed[i])
		if rows.Len() < payloadBatch && i+1 < len(changed) {
			continue
		}
		if err := publishBatch(ctx, publisher, rows, id); err != nil {
			return err
		}
		id.Batch++
	}
	return publisher.Flush(ctx)
}

// changedRows are the rows that are not stored as they are.
func changedRows(rows, stored []schemas.PayloadErrorRow) (changed []*schemas.PayloadErrorRow) {
	known := make(map[string]bool, len(stored))
	for i := range stored {
		known[textOf(&stored[i])] = true
	}
	for i := range rows {
		if row := &rows[i]; !known[textOf(row)] {
			changed = append(changed, row)
		}
	}
	return changed
}

// contentOf is a hash of rows that are published when the stream ends at that place.
func contentOf(rows []*schemas.PayloadErrorRow, after uint64) uint64 {
	hasher := xxh3.New()
	_, _ = fmt.Fprintln(hasher, after) // a hash never fails
	for _, row := range rows {
		_, _ = hasher.WriteString(textOf(row) + "\n")
	}
	return hasher.Sum64()
}

// textOf is all of a row as one line.
func textOf(r *schemas.PayloadErrorRow) string {
	text := fmt.Appendf(nil, "%d %d %d %d %d %d %d %d %q", r.ProblemRunID, r.BenchRunID, r.Rank, r.Step, r.ProblemSiteID, r.BenchSiteID, r.ElementCount, r.SameBits, r.Message)
	for _, v := range []*float64{r.Cosine, r.RelativeL2, r.L2Distance, r.MaxAbsolute, r.MaxRelative, r.ThousandthRatio, r.FiveThousandthRatio} {
		text = fmt.Append(text, " ", number(v))
	}
	return string(text)
}
