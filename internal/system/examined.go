package system

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/consumers/clickhouse"
)

// What `tensortap doctor` looks at, and nobody else.

// ConnectDatabase reaches the database alone. The caller closes the client.
func ConnectDatabase(ctx context.Context, e Endpoint, now func() time.Time) (*Client, error) {
	database, err := connectDatabase(ctx, e, e.ClickHouse)
	if err != nil {
		return nil, err
	}
	return &Client{Door: ask.Open(database), Endpoint: e, database: database, now: now}, nil
}

// JetStream is the client's way to the stream.
func (c *Client) JetStream() jetstream.JetStream { return c.stream }

// CheckTables says which columns the tables lack.
func (c *Client) CheckTables(ctx context.Context) error {
	return clickhouse.CheckTables(ctx, c.database)
}

// Detached are the parts that the engine has taken out of the tables by itself, as it could not load them.
func (c *Client) Detached(ctx context.Context) ([]clickhouse.Damage, error) {
	return clickhouse.DetachedByEngine(ctx, c.database, time.Unix(0, 0))
}

// Room is how much disk the stream may use if nothing was asked for, and how much there is.
func (f Folder) Room() (Budget, error) { return f.budget(0) }

// Exposed says who else can change or read what lies in the folder, or why this user cannot, each with what to do. A folder
// that is not there exposes nothing: fs.ErrNotExist.
func (f Folder) Exposed() (faults []Fault, err error) {
	info, err := os.Stat(string(f))
	if err != nil {
		return nil, err
	}
	if status, ok := info.Sys().(*syscall.Stat_t); ok && int(status.Uid) != os.Geteuid() {
		faults = append(faults, Fault{fmt.Sprintf("%s belongs to user %d and not to this one, %d", f, status.Uid, os.Geteuid()), "run tensortap as that user, or choose another folder with --data"})
	}
	if !info.IsDir() {
		return append(faults, Fault{string(f) + " is no folder", "choose another with --data"}), nil
	}
	if f.open() {
		faults = append(faults, Fault{fmt.Sprintf("other users may rename and remove what lies in %s (mode %04o)", f, info.Mode().Perm()), "chmod go-w " + string(f)})
	}
	const writeAndEnter = 3
	if err := syscall.Access(string(f), writeAndEnter); err != nil {
		faults = append(faults, Fault{fmt.Sprintf("this user cannot write in %s: %v", f, err), "chmod u+rwx " + string(f)})
	}
	for _, secret := range []string{f.secrets(), f.endpoint()} {
		const others = 0o077
		if info, err := os.Stat(secret); err == nil && info.Mode().Perm()&others != 0 {
			faults = append(faults, Fault{fmt.Sprintf("other users can read the passwords in %s (mode %04o)", secret, info.Mode().Perm()), "chmod 600 " + secret})
		}
	}
	return faults, nil
}

// Fault is what is wrong, and what to do.
type Fault struct{ Text, Remedy string }

// Spilled are the files of messages that no stream takes.
func (f Folder) Spilled() ([]string, error) {
	found, err := filepath.Glob(filepath.Join(string(f), "spill", "*.message"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return found, err
}
