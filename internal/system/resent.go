package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/tensortap/tensortap/analysis/resend"
	"github.com/tensortap/tensortap/producers/requests"
	"github.com/tensortap/tensortap/schemas"
)

// recordedQuery has a row for each request that a server got, with its answers where those were kept.
const recordedQuery = `SELECT
    request, fields['exchange'] AS exchange_name, any(fields['route']) AS route, if(any(fields['body_whole']) = 'true', any(fields['body']), '') AS body,
    any(fields['unread']) AS unread, min(event_time_ns) AS at_ns, max(prompt_hash) AS prompt, any(ended.answers) AS answers
FROM tap_store.request_event
LEFT ANY JOIN (
    SELECT request, fields['exchange'] AS exchange, any(fields['answers']) AS answers
    FROM tap_store.request_event
    WHERE run_id = {run:UInt64} AND mapContains(fields, 'answers')
    GROUP BY request, exchange
) AS ended ON ended.request = request_event.request AND ended.exchange = request_event.fields['exchange']
WHERE run_id = {run:UInt64} AND moment = 'received' AND mapContains(fields, 'route')
GROUP BY request, exchange_name
ORDER BY at_ns, request`

// RecordedRequests are the requests that the servers of a run got, in the order in which they came.
func (c *Client) RecordedRequests(ctx context.Context, run string) (all []requests.Recorded, err error) {
	rows, err := c.Rows(ctx, recordedQuery, map[string]string{"run": strconv.FormatUint(schemas.RunID(run), 10)})
	if err != nil {
		return nil, fmt.Errorf("read the requests of run %s: %w", run, err)
	}
	for err == nil && rows.Next() {
		var (
			r             requests.Recorded
			body, answers string
		)
		if err = rows.Scan(&r.ID, &r.Exchange, &r.Route, &body, &r.Missing, &r.AtNs, &r.PromptHash, &answers); err != nil {
			break
		}
		if body != "" {
			r.Body = json.RawMessage(body)
		} else if r.Missing == "" {
			r.Missing = requests.NotKept
		}
		if answers != "" {
			err = json.Unmarshal([]byte(answers), &r.Answers)
		}
		all = append(all, r)
	}
	return all, errors.Join(err, rows.Err(), rows.Close())
}

// A token is made by the step that serves the token before it. Inside vLLM names have more behind them.
const stepOfTokenQuery = `SELECT run, rank, step
FROM tap.requests
WHERE (request = {request:String} OR startsWith(request, concat({request:String}, '-')))
    AND first_position + token_count = ifNull(prompt_token_count, {prompt:UInt64}) + {index:UInt64}
ORDER BY rank, event_time_ns DESC, step
LIMIT 1`

// StepOfToken is the step that made a token, where a collector saw it; else nil.
func (c *Client) StepOfToken(ctx context.Context, p resend.Place) (*resend.Step, error) {
	prompt := int64(0)
	if p.PromptTokens != nil {
		prompt = *p.PromptTokens
	}
	table, err := c.Table(ctx, stepOfTokenQuery, map[string]string{
		"request": p.Request, "prompt": strconv.FormatInt(prompt, 10), "index": strconv.FormatInt(p.Index, 10),
	})
	if err != nil || len(table.Rows) == 0 {
		return nil, err
	}
	return &resend.Step{Run: table.Get(0, "run").Exact, Rank: int64(table.Get(0, "rank").Number), Step: int64(table.Get(0, "step").Number)}, nil
}
