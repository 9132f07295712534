// Package system wires producers, pipelines and consumers into the whole: a
// stream, a database and an archive, embedded in one folder or elsewhere. The
// commands are thin around it.
package system

import (
	"errors"
	"time"

	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/consumers/alerts"
	"github.com/tensortap/tensortap/internal/bucket"
	"github.com/tensortap/tensortap/internal/health"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/pipelines"
)

// Config says what a system is made of. Begin with DefaultConfig.
type Config struct {
	Folder      Folder
	NATS        string                // URL of a NATS server with JetStream; empty for one in this process
	ClickHouse  string                // DSN of a ClickHouse server; empty for the engine in a child process
	Login       Login                 // to these servers
	Library     string                // the engine's library; not looked at with ClickHouse
	Command     []string              // starts the engine's child: this executable with `engine serve`
	GuardPort   int                   // where the guard of the engine listens; 0 takes a free port
	Temporary   bool                  // thrown away afterwards: no archive, nothing made to survive a loss of power
	Unannounced bool                  // nobody else is told where it listens
	BatchAge    time.Duration         // longest wait of rows for the database
	Spacing     time.Duration         // least time between two small writes of a kind into the database
	ArchiveAge  time.Duration         // longest wait of rows for the archive
	AckWait     time.Duration         // how long the stream waits for a sign of life of a store before it sends events again
	CheckEvery  time.Duration         // how often the stores are held against each other and mended, one day's rounds read all checksums; 0 for never
	Replay      Replay                // what to store again at the start
	Restoring   bool                  // an archive is restored once that is done, and written down by itself
	Rebuilding  func(done, all int64) // is told how many messages a rebuild has stored; nil where nobody asks
	StreamBytes int64                 // most that the stream keeps; 0 for a tenth of the disk or half of what is free, 50 GB at most
	Version     string                // of the program, told to those who look for the system
	Health      *health.Health        // is handed all parts; nil where nobody asks
	Rules       retention.Rules       // how long runs stay; without any all do
	ArchiveTo   bucket.Place          // where the archive is copied to; nowhere when it names no bucket
	Serve       ServeRequest          // which processes of this host are published; none when it names no spool
	Alerts      *alerts.Config        // who is told of what; nil for no alerts
	Log         zerolog.Logger
	Now         func() time.Time
}

// DefaultConfig is a system of embedded parts in a folder.
func DefaultConfig(folder Folder, now func() time.Time) Config {
	return Config{
		Folder: folder, BatchAge: 100 * time.Millisecond, Spacing: 400 * time.Millisecond, ArchiveAge: 30 * time.Second,
		AckWait: pipelines.DefaultConfig().Stream.AckWait, Log: zerolog.Nop(), Now: now,
	}
}

// Validate says what is wrong with the configuration.
func (c Config) Validate() error {
	switch {
	case c.Folder == "":
		return errors.New("a system needs a data folder")
	case c.ClickHouse == "" && (c.Library == "" || len(c.Command) == 0):
		return errors.New("the embedded engine needs its library and a command")
	case c.BatchAge <= 0 || c.ArchiveAge <= 0:
		return errors.New("the batch age and the archive age must be greater than zero")
	case c.Now == nil:
		return errors.New("a system needs a clock")
	}
	return nil
}
