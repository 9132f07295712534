package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/analysis/rules"
	"github.com/tensortap/tensortap/consumers/alerts"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/pipelines"
)

// roles looks who has the work that is shared: that of judges and of alert roles.
func (e *examination) roles(ctx context.Context, js jetstream.JetStream) error {
	held, err := pipelines.Holders(ctx, js)
	if err != nil {
		return err
	}
	judges := map[string]bool{}
	for work, holder := range held {
		if strings.HasPrefix(work, "judge.") {
			judges[place(holder)] = true
		}
	}
	if len(judges) > 0 {
		e.well("judges", "standing comparisons are judged by %s", names(judges))
	}
	return e.alerting(ctx, js, held[alerts.Work])
}

// place is the host and the process of who holds a lease.
func place(holder string) string {
	host, rest, _ := strings.Cut(holder, " ")
	process, _, _ := strings.Cut(rest, " ")
	return "process " + process + " on " + host
}

// alerting says whether somebody tells of alerts, where somebody did before.
func (e *examination) alerting(ctx context.Context, js jetstream.JetStream, holder string) error {
	if holder != "" {
		e.well("alerts", "they are told by %s", place(holder))
		return nil
	}
	bucket, err := js.KeyValue(ctx, pipelines.AlertBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look who was told of alerts: %w", err)
	}
	receivers, err := alerts.Receivers(ctx, bucket)
	if len(receivers) > 0 {
		e.wrong("alerts", "tensortap alert, or tensortap up --alerts FILE", "nobody asks the alert rules now, and receivers were told before: %s", names(receivers))
	}
	return err
}

// waitingQuery counts, by standing comparison, steps that both runs ended and that have no verdict. Steps of inference engines pair by
// what all of them serve, and are judged at the end.
const waitingQuery = `SELECT c.problem AS problem, c.bench AS bench, count() AS step_count
FROM (
    SELECT comparison_id, problem, benches[1] AS bench, step_offset
    FROM tap_store.declared_comparison
    WHERE standing = 1 AND rules = {rules:UInt64}
    ORDER BY comparison_id, declared_time_ns DESC
    LIMIT 1 BY comparison_id
) AS c
INNER JOIN (SELECT DISTINCT run_id, rank, step FROM tap_store.step WHERE event_time_ns < {before:Int64}) AS p ON p.run_id = xxh3(concat(c.problem, char(31)))
INNER JOIN (SELECT DISTINCT run_id, rank, step FROM tap_store.step WHERE event_time_ns < {before:Int64}) AS b
    ON b.run_id = xxh3(concat(c.bench, char(31))) AND b.rank = p.rank AND b.step = p.step + c.step_offset
LEFT ANTI JOIN tap_store.judged_step AS j ON j.comparison_id = c.comparison_id AND j.rank = p.rank AND j.step = p.step
WHERE p.run_id NOT IN (SELECT run_id FROM tap_store.request)
GROUP BY problem, bench
ORDER BY problem, bench`

// mostUnjudged is how long ago both runs may have ended a step without a verdict.
const mostUnjudged = time.Minute

func (e *examination) judging(ctx context.Context, client *system.Client) error {
	waiting, err := client.Table(ctx, waitingQuery, map[string]string{
		"rules": strconv.FormatUint(rules.Version, 10), "before": fmt.Sprint(e.in.Now().Add(-mostUnjudged).UnixNano()),
	})
	if err != nil {
		return err
	}
	behind := map[string]string{}
	for i := range waiting.Rows {
		behind[waiting.Get(i, "problem").Exact+" against "+waiting.Get(i, "bench").Exact] = waiting.Get(i, "step_count").Exact
	}
	for _, runs := range slices.Sorted(maps.Keys(behind)) {
		e.wrong("judges", "tensortap up or tensortap judge; its log says what it could not judge, and tensortap report judged-steps what it could",
			"of run %s, %s steps of ranks that both ended a minute ago have no verdict", runs, behind[runs])
	}
	return nil
}
