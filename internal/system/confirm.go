package system

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/schemas"
)

// Refused are messages of what was published that a store can never take. They are dead letters.
type Refused struct {
	Messages int
	First    string // of them: which it is, and why
}

// Of several stores that refused a message, the first has the say.
const refusedOfRunQuery = `SELECT headers['Nats-Msg-Id'] AS id, argMin((origin, reason), origin) AS said, said.1 AS store, said.2 AS why FROM tap_store.dead_letter
WHERE startsWith(headers['Nats-Msg-Id'], {run:String}) AND origin != 'publisher' GROUP BY id ORDER BY store, id`

// confirm waits until the tables have come to what was published, and notes what they refused of it. Where that cannot be known,
// it notes why.
func (p *publishing) confirm(ctx context.Context) {
	refused, err := p.refused(ctx)
	p.result.Unconfirmed = err
	for epoch := range p.epochs {
		of := refused[epoch]
		if p.result.Refused.Messages == 0 {
			p.result.Refused.First = of.First
		}
		p.result.Refused.Messages += of.Messages
	}
}

// refused are the dead letters of the run by epoch.
func (p *publishing) refused(ctx context.Context) (map[uint64]Refused, error) {
	client, err := Connect(ctx, p.client.Endpoint, p.client.now)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for range 2 { // the row about a dead letter is behind it in the stream
		if err := client.waitMoving(ctx); err != nil {
			return nil, err
		}
	}
	table, err := client.Table(ctx, refusedOfRunQuery, map[string]string{"run": schemas.FormatID(schemas.RunID(p.request.Run)) + "/"})
	if err != nil {
		return nil, fmt.Errorf("look what the stores refused: %w", err)
	}
	refused := map[uint64]Refused{}
	for i := range table.Rows {
		id := table.Get(i, "id").Exact
		parts := strings.Split(id, "/")
		epoch, err := schemas.ParseID(parts[min(2, len(parts)-1)])
		if err != nil {
			continue // not of ours
		}
		of := refused[epoch]
		if of.Messages == 0 {
			of.First = fmt.Sprintf("%s by %s: %s", id, table.Get(i, "store").Exact, table.Get(i, "why").Exact)
		}
		of.Messages++
		refused[epoch] = of
	}
	return refused, nil
}

// waitMoving returns when the database holds what the stream held at the call. It waits for as long as more is stored.
func (c *Client) waitMoving(ctx context.Context) error {
	stream, err := c.streamInfo(ctx)
	if err != nil {
		return err
	}
	for before := uint64(0); ; {
		late := c.waitFor(ctx, stream.State.LastSeq, patience)
		if late == nil || ctx.Err() != nil {
			return late
		}
		stored, err := c.tablesStored(ctx)
		if err != nil || stored == before {
			return late
		}
		before = stored
	}
}

// tablesStored grows with each message that the database takes.
func (c *Client) tablesStored(ctx context.Context) (sum uint64, err error) {
	consumers, err := c.tableConsumers(ctx)
	if err != nil {
		return 0, err
	}
	for _, consumer := range consumers {
		stored, err := pipelines.ConsumerProgress(ctx, c.stream, consumer)
		if err != nil {
			return 0, err
		}
		sum += stored.StoredUpTo
	}
	return sum, nil
}

// renew prepares to publish under another epoch what was published before and refused, where that is to be replaced.
func (p *publishing) renew(ctx context.Context, sources []producers.Source, claims []pipelines.Claim) error {
	if !p.request.Replace || !slices.ContainsFunc(claims, func(c pipelines.Claim) bool { return c.Done }) {
		return nil
	}
	refused, err := p.refused(ctx)
	if err != nil {
		return nil //nolint:nilerr // nothing is known to be refused; confirm says why
	}
	for i := range claims {
		if !claims[i].Done || refused[claims[i].Epoch].Messages == 0 {
			continue
		}
		if claims[i], err = p.bucket.Renew(ctx, claims[i]); err != nil {
			return err
		}
		sources[i].Content.Reissue(claims[i].Epoch, claims[i].Generation, claims[i].EventTimeNs)
	}
	return nil
}
