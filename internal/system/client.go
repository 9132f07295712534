package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/internal/health"
)

// Client talks to a running system. Its methods may be called at the same time.
type Client struct {
	*ask.Door
	Endpoint Endpoint
	stream   jetstream.JetStream
	database driver.Conn
	now      func() time.Time
	health   *health.Health // of the process; nil where nobody asks
	borrowed bool           // the stream is another client's to close
}

// Connect reaches the system at the endpoint. The caller closes it.
func Connect(ctx context.Context, e Endpoint, now func() time.Time) (*Client, error) {
	client, err := ConnectStream(e, now)
	if err != nil {
		return nil, err
	}
	if client.database, err = connectDatabase(ctx, e, e.ClickHouse); err != nil {
		client.Close()
		return nil, err
	}
	client.Door = ask.Open(client.database)
	return client, nil
}

// ConnectStream reaches the stream alone, for a client that only publishes:
// that needs no database. The caller closes it.
func ConnectStream(e Endpoint, now func() time.Time) (*Client, error) {
	stream, err := connectStream(e)
	if err != nil {
		return nil, err
	}
	return &Client{Endpoint: e, stream: stream, now: now}, nil
}

// connectTimeout is for a machine with far more processes than cores, or hundreds that connect at the same time: the library gives two seconds.
const connectTimeout = 20 * time.Second

// pingEvery finds out within a minute that the other end of a connection is gone without a word: the third ping without an answer replaces
// it. The library takes six minutes. A narrow network needs its time too: an answer comes behind all that was sent before.
const pingEvery = 20 * time.Second

func connectStream(e Endpoint) (jetstream.JetStream, error) {
	url := e.NATS
	if err := checkAddress(url); err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", redacted(url), err)
	}
	options := []nats.Option{nats.Name("tensortap"), nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond), nats.Timeout(connectTimeout), nats.PingInterval(pingEvery)}
	if own := e.Folder.dialer(url); own != nil {
		options = append(options, nats.SetCustomDialer(own))
	} else {
		login, err := e.Login.NATS()
		if err != nil {
			return nil, err
		}
		options = append(options, login...)
	}
	conn, err := nats.Connect(url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", redacted(url), unquoted(err))
	}
	stream, err := jetstream.New(conn)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("connect to JetStream at %s: %w", redacted(url), err)
	}
	return stream, nil
}

func connectDatabase(ctx context.Context, e Endpoint, dsn string) (driver.Conn, error) {
	options, err := clickhouse.ParseDSN(dsn)
	if err = cmp.Or(checkAddress(dsn), err); err != nil {
		return nil, fmt.Errorf("read ClickHouse DSN %s: %w", redacted(dsn), unquoted(err))
	}
	if options.Protocol != clickhouse.HTTP {
		return nil, fmt.Errorf("connect to ClickHouse at %s: batches pass through HTTP only, not through the native port: give http://USER:PASSWORD@HOST:8123", redacted(dsn))
	}
	// The consumer bounds its waiting itself: given up by the driver, an INSERT would still run.
	options.ReadTimeout = 24 * time.Hour
	if own := e.Folder.dialer(dsn); own != nil {
		options.DialContext = own.dialContext
	}
	if err := e.Login.clickhouse(options); err != nil {
		return nil, fmt.Errorf("connect to ClickHouse at %s: %w", redacted(dsn), err)
	}
	database, err := clickhouse.Open(options)
	if err != nil {
		return nil, fmt.Errorf("connect to ClickHouse at %s: %w", redacted(dsn), err)
	}
	if err := database.Ping(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to ClickHouse at %s: %w", redacted(dsn), err), database.Close())
	}
	return database, nil
}

// redacted is an address without its user and password.
func redacted(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return "(address)"
	}
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		rest = rest[at+1:]
	}
	rest, _, _ = strings.Cut(rest, "?")
	return scheme + "://" + rest
}

// Close lets go of the connections.
func (c *Client) Close() {
	if c.stream != nil && !c.borrowed {
		c.stream.Conn().Close()
	}
	if c.database != nil {
		_ = c.database.Close()
	}
}
