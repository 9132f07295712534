package retention

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// Names of the places that Use counts.
const (
	InStream   = "stream"
	InTables   = "tables"
	InArchive  = "archive"
	InBucket   = "bucket"
	InLogs     = "logs"
	InPayloads = "payloads"
	InTraces   = "traces"
	InSpools   = "spools"
)

// Use is the room that a run takes in one place. Run 0 stands for what several runs share, or what is of no run.
type Use struct {
	RunID uint64
	Store string
	Kind  string // of events; empty where kinds are added up
	Rows  uint64 // of the first four places
	Bytes uint64 // in tables by the share of the rows
}

// Stores are the places that are measured.
type Stores struct {
	Stream   jetstream.JetStream
	Database driver.Conn
	Archive  string // folder
	Copied   int64  // bytes of the archive's manifest: the files of these lines lie in a bucket, too
	Local    Local
}

// Uses measures everything: the largest of each run first, and the largest run first.
func (s *Stores) Uses(ctx context.Context) ([]Use, error) {
	var all tally
	err := errors.Join(s.addStream(ctx, &all), s.addTables(ctx, &all), s.addArchive(&all), s.addBucket(&all), s.addLocal(ctx, &all))
	return all.sorted(), err
}

// Durable measures tables and archive by kinds, which takes little time.
func (s *Stores) Durable(ctx context.Context) ([]Use, error) {
	all := tally{byKind: true}
	err := errors.Join(s.addTables(ctx, &all), s.addArchive(&all))
	return all.sorted(), err
}

// tally adds up by run and place.
type tally struct {
	uses   []Use
	byKind bool
}

func (t *tally) add(u Use) {
	if !t.byKind {
		u.Kind = ""
	}
	i := slices.IndexFunc(t.uses, func(have Use) bool { return have.RunID == u.RunID && have.Store == u.Store && have.Kind == u.Kind })
	if i < 0 {
		t.uses = append(t.uses, u)
		return
	}
	t.uses[i].Rows += u.Rows
	t.uses[i].Bytes += u.Bytes
}

func (t *tally) sorted() []Use {
	of := map[uint64]uint64{}
	for _, u := range t.uses {
		of[u.RunID] += u.Bytes
	}
	slices.SortFunc(t.uses, func(a, b Use) int {
		return cmp.Or(cmp.Compare(of[b.RunID], of[a.RunID]), cmp.Compare(a.RunID, b.RunID), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Store, b.Store), cmp.Compare(a.Kind, b.Kind))
	})
	return t.uses
}

// runOf is 0 for kinds that go with no run.
func runOf(kind string, runID uint64) uint64 {
	if !schemas.OfRun(kind) {
		return 0
	}
	return runID
}

func (s *Stores) addStream(ctx context.Context, to *tally) error {
	shares, err := pipelines.AskShares(ctx, s.Stream)
	for of, share := range shares {
		to.add(Use{RunID: runOf(of.Kind, of.RunID), Store: InStream, Rows: share.Rows, Bytes: share.Bytes})
	}
	return err
}

func (s *Stores) addTables(ctx context.Context, to *tally) error {
	shares, err := clickhouse.Shares(ctx, s.Database)
	for _, share := range shares {
		to.add(Use{RunID: share.RunID, Store: InTables, Kind: share.Table, Rows: share.Rows, Bytes: share.Bytes})
	}
	return err
}

func (s *Stores) addArchive(to *tally) error {
	shares, err := parquet.Shares(s.Archive)
	addFiles(to, InArchive, shares)
	return err
}

func (s *Stores) addBucket(to *tally) error {
	if s.Copied == 0 {
		return nil
	}
	shares, err := parquet.SharesUntil(s.Archive, s.Copied)
	addFiles(to, InBucket, shares)
	return err
}

func addFiles(to *tally, store string, shares []parquet.Share) {
	for _, share := range shares {
		to.add(Use{RunID: runOf(share.Kind, share.RunID), Store: store, Rows: share.Rows, Bytes: share.Bytes})
	}
}

func (s *Stores) addLocal(ctx context.Context, to *tally) error {
	starts, err := pipelines.StartEpochs(ctx, s.Stream, "*")
	if err != nil {
		return err
	}
	byRun := func(name string) uint64 { return idOf(name) }
	byEpoch := func(name string) uint64 { return idOf(starts[epochOf(name)]) }
	errs := []error{addFolder(to, InLogs, s.Local.Logs, byRun)}
	if s.Local.Payloads != "" {
		errs = append(errs, addFolder(to, InPayloads, s.Local.Payloads, byEpoch), addFolder(to, InTraces, s.Local.traces(), byRun))
	}
	return errors.Join(append(errs, addFolder(to, InSpools, s.Local.Spool, func(name string) uint64 {
		if run := byEpoch(name); run != 0 {
			return run
		}
		return agent.RunIDOf(s.Local.Spool, name)
	}))...)
}

// idOf is 0 for what is no id.
func idOf(text string) uint64 {
	id, err := schemas.ParseID(text)
	if err != nil {
		return 0
	}
	return id
}

// epochOf is the epoch in the name of a process's folder.
func epochOf(name string) string {
	_, epoch, _ := strings.Cut(name, "-")
	return epoch
}

// addFolder adds what lies below each entry of a folder, if that is there.
func addFolder(to *tally, store, folder string, run func(name string) uint64) error {
	if folder == "" {
		return nil
	}
	names, err := namesIn(folder)
	for _, name := range names {
		if bytes := BytesBelow(filepath.Join(folder, name)); bytes > 0 {
			to.add(Use{RunID: run(name), Store: store, Bytes: bytes})
		}
	}
	return err
}

func namesIn(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// BytesBelow is the size of the files below a path; what goes away meanwhile counts nothing.
func BytesBelow(path string) uint64 {
	total := uint64(0)
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil //nolint:nilerr // it has gone
		}
		if info, err := e.Info(); err == nil {
			total += allocated(info)
		}
		return nil
	})
	return total
}
