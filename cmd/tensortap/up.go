package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/ports"
	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/internal/system"
)

// upWords are the flags of up.
type upWords struct {
	port        int
	streamBytes int64
	archiveAge  time.Duration
	checkEvery  time.Duration
	spool       string
	alertFile   string
	rules       string
	listen      listening
	copied      archiveTo
	demo        bool
}

func newUp(a *app) *cobra.Command {
	var w upWords
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the whole system on this machine until Ctrl-C",
		Long: `Run the whole system on this machine until Ctrl-C: a NATS server, the ClickHouse
engine, the consumers that store events in it and in Parquet files, a judge, the agent
that publishes the events of this machine's collectors, and the page with the HTTP API.
All listen on this machine only and keep their data in the data folder.`,
		Example: `  tensortap up
  tensortap up --demo
  tensortap up --data /big/disk/tap --stream-bytes 200000000000
  tensortap up --nats nats://nats:4222 --clickhouse http://user:password@db:8123`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.up(cmd.Context(), &w) },
	}
	cmd.Flags().IntVar(&w.port, "clickhouse-port", 0, "port for ClickHouse clients such as Grafana; 0 takes a free one")
	cmd.Flags().Int64Var(&w.streamBytes, "stream-bytes", 0, "greatest size of the stream; 0 for a tenth of the disk or half of what is free there, whichever is less, 50 GB at most")
	cmd.Flags().DurationVar(&w.archiveAge, "archive-age", 30*time.Second, "longest time until an event is in the Parquet archive")
	cmd.Flags().DurationVar(&w.checkEvery, "check-every", time.Hour, "how often tables and archive are held against each other and mended, with 1/24 of all checksums read; 0 for never")
	cmd.Flags().StringVar(&w.spool, "spool", "", "root of the spools (also TENSORTAP_SPOOL); by default that of this user's collectors")
	cmd.Flags().StringVar(&w.alertFile, "alerts", "", "file that says who is told of what, as that of tensortap alert (also "+alertsVariable+"); without one nobody asks the alert rules")
	w.listen.flags(cmd, "")
	retentionFlag(cmd, &w.rules)
	w.copied.flags(cmd.Flags())
	cmd.Flags().BoolVar(&w.demo, "demo", false, "store three recorded runs to look at, of which two are wrong")
	return cmd
}

func (a *app) up(ctx context.Context, w *upWords) error {
	if err := cmp.Or(needsOfUp().check("up"), embedded.CloseToOthers()); err != nil {
		return err
	}
	boundGarbage()
	begin := time.Now()
	cfg, err := a.config(a.data)
	if err != nil {
		return err
	}
	cfg.GuardPort, cfg.StreamBytes, cfg.ArchiveAge = w.port, w.streamBytes, w.archiveAge
	cfg.CheckEvery, cfg.Health, cfg.Version = w.checkEvery, a.own, version
	if cfg.Alerts, err = a.alertsOf(w.alertFile); err != nil {
		return err
	}
	if err := a.keep(&cfg, &w.copied, w.rules); err != nil {
		return err
	}
	cfg.Serve = a.serving(w.spool)
	cfg.Serve.Patient, cfg.Serve.Rules = true, cfg.Rules
	s, err := system.New(cfg)
	if err != nil {
		return err
	}
	page, err := a.listenUp(ctx, w.listen)
	if err != nil {
		return err
	}
	defer page.close()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	err = s.Run(ctx, func(e system.Endpoint) error {
		if err := page.begin(watching, e); err != nil {
			return err
		}
		a.watchHangsOf(watching, e)
		spool := cfg.Serve.Spool
		if !s.ReadsSpool() {
			spool += ", not read: see above"
		}
		err := a.announce(e, s.Budget(), spool, page.server.URL(), time.Since(begin))
		if err != nil || !w.demo {
			return err
		}
		return a.showDemo(ctx, e, page.server.URL())
	})
	return w.unopened(err)
}

// unopened says of --clickhouse-port what to do where it is taken. All other ports are told of before the system runs.
func (w *upWords) unopened(err error) error {
	if w.port == 0 || !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	return ports.Unopened("--clickhouse-port", strconv.Itoa(w.port), "0", err)
}

func retentionFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "retention", "", "`FILE` that says how long runs stay (docs/retention.md); tensortap disk --retention FILE says what that comes to")
	_ = cmd.MarkFlagFilename("retention", "yaml", "yml")
}

// readRules reads a file of rules; without one there are none.
func readRules(file string) (retention.Rules, error) {
	if file == "" {
		return nil, nil
	}
	return retention.ReadRules(file)
}

// keep says where a copy of the archive lies, and how long runs stay.
func (a *app) keep(cfg *system.Config, copied *archiveTo, rules string) (err error) {
	if cfg.ArchiveTo, err = copied.named(a.getenv); err != nil {
		return err
	}
	cfg.Rules, err = readRules(rules)
	return err
}

// announce says where everything listens.
func (a *app) announce(e system.Endpoint, b system.Budget, spool, page string, took time.Duration) error {
	_, err := fmt.Fprintf(a.stdout, `tensortap %s is up after %.2f s, until Ctrl-C
  data        %s
  stream      %s, at most %.1f GB of events, %.1f GB of disk are free
  clickhouse  %s%s
  archive     %s
  spool       %s
  page        %s
Publish with: tensortap publish msprobe DIR --run NAME, or record with: tensortap run --run NAME -- COMMAND
`, version, took.Seconds(), e.Folder, withoutSecret(e.NATS), float64(b.StreamBytes)/1e9, float64(b.FreeBytes)/1e9,
		withoutSecret(e.ClickHouse), reader(e), e.Archive, spool, page)
	return err
}

// reader shows the login for reading; a server elsewhere has its own administrator.
func reader(e system.Endpoint) string {
	u, err := url.Parse(e.Reader)
	if err != nil || u.User == nil || e.Reader == e.ClickHouse {
		return ""
	}
	password, _ := u.User.Password()
	return fmt.Sprintf("\n              user %s, password %s (reads only)", u.User.Username(), password)
}

func withoutSecret(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(see endpoint.json)"
	}
	u.User = nil
	return u.String()
}
