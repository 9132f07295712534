package system

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/embedded/guard"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/producers/agent"
)

// System is the whole on one machine.
type System struct {
	cfg     Config
	budget  Budget
	started time.Time
	nats    *embedded.NATS   // nil with a server elsewhere
	engine  *embedded.Engine // nil with a server elsewhere

	readsSpool bool
	deleted    *retention.Deleted // runs of which nothing is stored
}

// New checks the configuration. It starts nothing and touches no file.
func New(cfg Config) (*System, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &System{cfg: cfg, deleted: &retention.Deleted{}}, nil
}

// Budget is how much disk the system may use; known once Run calls ready.
func (s *System) Budget() Budget { return s.budget }

// ReadsSpool says whether the processes of this host are published, or their spools are left to another system; known
// once Run calls ready.
func (s *System) ReadsSpool() bool { return s.readsSpool }

// Run runs the system until ctx ends, and then stores what was received. It
// calls ready once others can use it. Nobody else can use the folder meanwhile.
func (s *System) Run(ctx context.Context, ready func(Endpoint) error) error {
	s.started = s.cfg.Now()
	if s.cfg.Serve.Spool != "" {
		if err := agent.CheckRoot(s.cfg.Serve.Spool); err != nil { // before anything is started
			return err
		}
	}
	lock, err := s.cfg.Folder.lock(ctx, s.started)
	if err != nil {
		return err
	}
	defer durable.Unlock(lock) //nolint:errcheck // gives the folder back; nothing is written through it
	if s.cfg.Folder.open() {
		s.cfg.Log.Warn().Str("folder", string(s.cfg.Folder)).Msg("other users may rename and remove what lies in the data folder: chmod go-w")
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	// The servers outlive ctx by what the consumers need to finish.
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	group, serving := errgroup.WithContext(serving)
	s.serve(serving, group)
	group.Go(func() error {
		defer stopServing()
		return s.consume(ctx, serving, ready)
	})
	return s.remedy(group.Wait())
}

// prepare makes the parts that are embedded.
func (s *System) prepare(ctx context.Context) error {
	var err error
	if s.budget, err = s.cfg.Folder.budget(s.cfg.StreamBytes); err != nil {
		return err
	}
	secrets, err := s.cfg.Folder.credentials()
	if err != nil {
		return err
	}
	if s.cfg.NATS == "" {
		cfg := embedded.DefaultNATSConfig(s.cfg.Folder.nats())
		cfg.SyncAlways, cfg.Token, cfg.Log = !s.cfg.Temporary, secrets.Token, s.cfg.Log
		cfg.Address = s.natsPlace(ctx, cfg.Address)
		cfg.MaxStoreBytes = s.budget.StoreBytes + deadLetterBytes + headroomBytes
		if s.nats, err = embedded.NewNATS(cfg); err != nil {
			return err
		}
	}
	if s.cfg.ClickHouse == "" {
		cfg := embedded.DefaultEngineConfig(s.cfg.Library, s.cfg.Folder.clickhouse(), s.cfg.Command)
		cfg.Log, cfg.ReadableDirs = s.cfg.Log, []string{s.cfg.Folder.archive()}
		cfg.Guard.OwnerPassword, cfg.Guard.ReaderPassword = secrets.Owner, secrets.Reader
		cfg.Guard.Address = fmt.Sprintf("127.0.0.1:%d", s.cfg.GuardPort)
		if s.engine, err = embedded.NewEngine(cfg); err != nil {
			return err
		}
	}
	return nil
}

// natsPlace is where the last system on the folder listened: a publisher that
// was at work when that ended goes on by itself. If something else listens
// there now, or there was none, it is another place.
func (s *System) natsPlace(ctx context.Context, another string) string {
	last, err := s.cfg.Folder.last()
	if err != nil {
		return another
	}
	place, err := url.Parse(last.NATS)
	if err != nil || place.Hostname() != "127.0.0.1" {
		return another
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", place.Host)
	if err != nil || listener.Close() != nil {
		return another
	}
	return place.Host
}

// Room in the stream's store besides the events.
const (
	deadLetterBytes = 1 << 30
	headroomBytes   = 256 << 20
)

func (s *System) serve(ctx context.Context, group *errgroup.Group) {
	if s.nats != nil {
		group.Go(func() error { return s.nats.Run(ctx) })
	}
	if s.engine != nil {
		group.Go(func() error { return s.engine.Run(ctx) })
	}
}

// tend does beside the deliveries what a system that stays needs.
func (s *System) tend(ctx context.Context, group *errgroup.Group, client *Client, rounds *rounds) {
	group.Go(func() error {
		rounds.run(ctx)
		return nil
	})
	group.Go(func() error {
		rounds.deletions.follow(ctx)
		return nil
	})
	group.Go(func() error { return client.expire(ctx, s.cfg.Rules, s.cfg.Log) })
	group.Go(func() error { return s.keepMark(ctx, client) })
	group.Go(func() error { return client.mendTrend(ctx, s.cfg.Log) })
	if !s.cfg.Restoring { // the verdicts are in the archive, and come after the runs that they are about
		group.Go(func() error { return client.Judge(ctx, s.cfg.Log) })
	}
}

// consume waits for the servers, sets them up, and stores events until ctx ends.
func (s *System) consume(ctx, serving context.Context, ready func(Endpoint) error) error {
	endpoint, err := s.await(ctx, serving)
	if err != nil || ctx.Err() != nil {
		return err
	}
	client, err := Connect(ctx, endpoint, s.cfg.Now)
	if err != nil {
		return err
	}
	defer client.Close()
	archive, err := s.setUp(ctx, client)
	if err != nil {
		return err
	}
	tables, deliveries, err := s.deliveries(client, archive)
	if err != nil {
		return errors.Join(err, archive.close())
	}
	deletions, err := s.deletions(ctx, client, archive, tables)
	if err == nil {
		err = s.replay(ctx, client, archive)
	}
	if err != nil {
		return errors.Join(err, archive.close())
	}
	if err := errors.Join(s.reclaimAtStart(ctx, client), s.tellCut(ctx, client)); err != nil {
		return errors.Join(err, archive.close())
	}
	s.observe(client, archive, tables, deliveries)
	serve, err := s.server(client)
	if err != nil {
		return errors.Join(err, archive.close())
	}
	rounds := newRounds(s.healer(client, archive, tables), s.cfg)
	rounds.deletions = deletions
	heard, err := rounds.listen(client.stream.Conn())
	if err != nil {
		return errors.Join(err, archive.close())
	}
	defer heard.Unsubscribe() //nolint:errcheck // the connection ends with this function
	group, deliverCtx := errgroup.WithContext(ctx)
	for _, d := range deliveries {
		group.Go(func() error { return d.Run(deliverCtx) })
	}
	group.Go(func() error { return s.watch(deliverCtx, deliveries) })
	group.Go(func() error { return serve(deliverCtx) })
	archive.copy(deliverCtx, group)
	if !s.cfg.Temporary {
		s.tend(deliverCtx, group, client, rounds)
	}
	if s.cfg.Alerts != nil {
		group.Go(func() error { return client.Alert(deliverCtx, *s.cfg.Alerts, s.cfg.Log) })
	}
	group.Go(func() error {
		if !s.cfg.Unannounced {
			if err := endpoint.announce(); err != nil {
				return err
			}
		}
		return ready(endpoint)
	})
	err = errors.Join(group.Wait(), archive.close())
	s.tell(zerolog.InfoLevel, deliveries)
	return err
}

func (s *System) healer(client *Client, archive *archive, tables *clickhouse.Writer) *healer {
	return &healer{client: client, archive: archive, tables: tables, alone: s.engine != nil, since: s.started, told: map[string]bool{}}
}

// server is what publishes the processes of this host. It has taken their spools, if it is to serve any.
func (s *System) server(client *Client) (func(context.Context) error, error) {
	if s.cfg.Serve.Spool == "" {
		return func(context.Context) error { return nil }, nil
	}
	served, err := client.newAgent(s.cfg.Serve)
	s.readsSpool = served.serving.HasTaken()
	return func(ctx context.Context) error { return client.serve(ctx, s.cfg.Serve, served) }, err
}

// await waits until the servers answer. When one of them fails, serving ends and its own error is the one to report.
func (s *System) await(ctx, serving context.Context) (Endpoint, error) {
	e := Endpoint{
		Folder: s.cfg.Folder, PID: os.Getpid(), Started: s.started,
		NATS: s.cfg.NATS, ClickHouse: s.cfg.ClickHouse, Reader: s.cfg.ClickHouse, Archive: s.cfg.Folder.archive(),
		Login: s.cfg.Login, Version: s.cfg.Version,
	}
	for _, part := range s.parts() {
		select {
		case <-part:
		case <-ctx.Done():
			return e, nil
		case <-serving.Done():
			return e, context.Cause(serving)
		}
	}
	if s.nats != nil {
		e.NATS = s.nats.URL()
	}
	if s.engine != nil {
		e.ClickHouse, e.Reader = s.engine.DSN(guard.Owner), s.engine.DSN(guard.Reader)
	}
	return e, nil
}

func (s *System) parts() []<-chan struct{} {
	var parts []<-chan struct{}
	if s.nats != nil {
		parts = append(parts, s.nats.Ready())
	}
	if s.engine != nil {
		parts = append(parts, s.engine.Ready())
	}
	return parts
}
