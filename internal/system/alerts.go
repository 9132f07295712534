package system

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/consumers/alerts"
	"github.com/tensortap/tensortap/consumers/alerts/receiver"
	"github.com/tensortap/tensortap/internal/audit"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// recent is how long rules ask about a run after it has ended, as far as the tables know.
const recent = time.Hour

// currentRuns go on, ended a short time ago by the times of their events, or were held against another then.
const currentRuns = `SELECT name
FROM (
    SELECT name, status = 'running' AS goes_on, last_event_time_ns AS latest
    FROM tap.runs
    WHERE status = 'running' OR last_event_time_ns > {since_ns:Int64}
    UNION ALL
    SELECT problem AS name, false AS goes_on, declared_time_ns AS latest
    FROM tap.declared_comparisons
    WHERE standing = 1 AND declared_time_ns > {since_ns:Int64}
)
GROUP BY name
ORDER BY max(goes_on) DESC, max(latest) DESC, name`

// diskRoom is the room of the disks of the database.
const diskRoom = "SELECT name, toUInt64(free_space) AS free, toUInt64(total_space) AS total FROM system.disks WHERE total_space < 1e18 ORDER BY name"

// historyCondition is of the stored changes that an alert role has to know.
const historyCondition = `changed_time_ns > %[1]d OR (fingerprint, ordinal) IN (
    SELECT fingerprint, max(ordinal) FROM tap_store.alert GROUP BY fingerprint
    HAVING argMax(state, ordinal) = 'firing' OR max(changed_time_ns) > %[2]d
)
ORDER BY fingerprint, ordinal`

// AlertBeside is Alert in another process than the system of the client's folder. It ends with ErrMoved once another system
// runs on the folder.
func (c *Client) AlertBeside(ctx context.Context, cfg alerts.Config, log zerolog.Logger) error {
	return c.beside(ctx, func(ctx context.Context) error { return c.Alert(ctx, cfg, log) })
}

// Alert asks the rules and tells the receivers until ctx ends, beside other such roles of the same stream.
func (c *Client) Alert(ctx context.Context, cfg alerts.Config, log zerolog.Logger) error { //nolint:gocritic // as others
	leases, err := c.openLeases(ctx, log)
	if err != nil {
		return stopped(ctx, err)
	}
	bucket, err := pipelines.OpenAlertBucket(ctx, c.stream)
	if err != nil {
		return stopped(ctx, err)
	}
	publisher, err := (&publishing{client: c}).newPublisher()
	if err != nil {
		return err
	}
	defer publisher.Close()
	role := alerts.Role{
		Config: cfg, Source: c.alertSource(), History: c.alertHistory, Bucket: bucket, Mine: leases.Take, LetGo: leases.LetGo, Now: c.now, Log: log,
		Publish: func(ctx context.Context, messages ...schemas.Message) error {
			return errors.Join(publisher.PublishTogether(ctx, messages...), publisher.Flush(ctx))
		},
	}
	group, alertCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		leases.Renew(alertCtx)
		return nil
	})
	group.Go(func() error { return role.Run(alertCtx) })
	return group.Wait()
}

// Silences are those that are set.
func (c *Client) Silences(ctx context.Context) ([]alerts.Silence, error) {
	bucket, err := c.alertBucket(ctx)
	if err != nil {
		return nil, err
	}
	return alerts.Silences(ctx, bucket)
}

func (c *Client) alertBucket(ctx context.Context) (jetstream.KeyValue, error) {
	return pipelines.OpenAlertBucket(ctx, c.stream)
}

// SetSilence keeps receivers from being told of some alerts.
func (c *Client) SetSilence(ctx context.Context, s alerts.Silence) (set alerts.Silence, err error) {
	deed := audit.Deed{Name: "silence set", Target: s.Words(), Run: s.Match["run"], Details: map[string]string{"until": s.Until.Format(time.RFC3339), "reason": s.Reason}}
	err = c.Audited(ctx, deed, func() error {
		bucket, err := c.alertBucket(ctx)
		if err == nil {
			set, err = alerts.AddSilence(ctx, bucket, s)
		}
		return err
	})
	return set, err
}

// RemoveSilence ends a silence before its time.
func (c *Client) RemoveSilence(ctx context.Context, id string) error {
	return c.Audited(ctx, audit.Deed{Name: "silence remove", Target: id}, func() error {
		bucket, err := c.alertBucket(ctx)
		if err == nil {
			err = alerts.RemoveSilence(ctx, bucket, id)
		}
		return err
	})
}

func (c *Client) alertSource() alerts.Source {
	return alerts.Source{Rows: c.textRows, Current: c.currentRuns, Measured: c.measured, Deleted: c.runDeleted}
}

func (c *Client) runDeleted(ctx context.Context, run string) (bool, error) {
	err := pipelines.RefuseDeleted(ctx, c.stream, schemas.RunID(run))
	if errors.Is(err, pipelines.ErrRunDeleted) {
		return true, nil
	}
	return false, err
}

// textRows are the rows of an answer as text, by column.
func (c *Client) textRows(ctx context.Context, query string, parameters map[string]string, most int) ([]map[string]string, error) {
	table, err := c.Table(ctx, query, parameters)
	if err != nil {
		return nil, err
	}
	rows := make([]map[string]string, min(len(table.Rows), most))
	for i := range rows {
		rows[i] = make(map[string]string, len(table.Columns))
		for _, column := range table.Columns {
			rows[i][column] = table.Get(i, column).Exact
		}
	}
	return rows, nil
}

func (c *Client) currentRuns(ctx context.Context, known time.Time) ([]string, error) {
	since := strconv.FormatInt(known.Add(-recent).UnixNano(), 10)
	table, err := c.Table(ctx, currentRuns, map[string]string{"since_ns": since})
	if err != nil {
		return nil, fmt.Errorf("look which runs go on: %w", err)
	}
	names := make([]string, len(table.Rows))
	for i := range names {
		names[i] = table.Get(i, "name").Exact
	}
	return names, nil
}

// measured is what no table knows.
func (c *Client) measured(ctx context.Context) (m alerts.Measured, err error) {
	if m.Consumers, err = c.storesBehind(ctx); err != nil {
		return m, err
	}
	for _, store := range m.Consumers {
		if store.Name == databaseConsumer {
			m.Behind = store.Behind
		}
	}
	used, most, err := pipelines.StreamRoom(ctx, c.stream)
	if err != nil {
		return m, err
	}
	if m.Disks, err = c.disks(ctx); err != nil {
		return m, err
	}
	m.Disks = append(m.Disks, alerts.Room{Name: "stream", FreeBytes: most - min(used, most), Bytes: most})
	return m, nil
}

// storesBehind is how far tables and archives are behind the stream: the tables as one store, however many consumers fill them.
func (c *Client) storesBehind(ctx context.Context) (stores []alerts.Waiting, err error) {
	lags, err := pipelines.Lags(ctx, c.stream, c.now)
	if err != nil {
		return nil, err
	}
	ofTables, err := c.tableConsumers(ctx)
	if err != nil {
		return nil, err
	}
	tables := alerts.Waiting{Name: databaseConsumer}
	for i := range lags {
		behind := alerts.Waiting{Name: lags[i].Consumer, Messages: lags[i].Waiting(), Behind: lags[i].Age}
		switch {
		case slices.Contains(ofTables, behind.Name):
			tables.Messages, tables.Behind = tables.Messages+behind.Messages, max(tables.Behind, behind.Behind)
		case behind.Name == archiveConsumer || strings.HasPrefix(behind.Name, archiveConsumer+"-"):
			stores = append(stores, behind)
		}
	}
	return append(stores, tables), nil
}

func (c *Client) disks(ctx context.Context) ([]alerts.Room, error) {
	table, err := c.Table(ctx, diskRoom, nil)
	if err != nil {
		return nil, fmt.Errorf("look for the room of the database's disks: %w", err)
	}
	rooms := make([]alerts.Room, len(table.Rows))
	for i := range rooms {
		rooms[i] = alerts.Room{
			Name:      "disk of the database " + table.Get(i, "name").Exact,
			FreeBytes: uint64(table.Get(i, "free").Number), Bytes: uint64(table.Get(i, "total").Number),
		}
	}
	return rooms, nil
}

// alertHistory are the stored changes that count, once all that were published are stored.
func (c *Client) alertHistory(ctx context.Context) ([]schemas.AlertRow, error) {
	last, err := pipelines.LastOf(ctx, c.stream, schemas.Alert().Kind())
	if err != nil {
		return nil, err
	}
	if last > 0 {
		waiting, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := c.waitTables(waiting, last, waitEvery); err != nil {
			return nil, err
		}
	}
	now := c.now()
	condition := fmt.Sprintf(historyCondition, now.Add(-time.Hour).UnixNano(), now.Add(-alerts.Remembered).UnixNano())
	return ask.Rows[schemas.AlertRow](ctx, c.Door, condition)
}

// AlertsNow are the alerts that a rule's answer would have firing now, as an alert role asks it.
func (c *Client) AlertsNow(ctx context.Context, cfg *alerts.Config, rule *alerts.Rule) ([]receiver.Alert, error) {
	return alerts.Now(ctx, c.alertSource(), cfg, rule, c.now())
}
