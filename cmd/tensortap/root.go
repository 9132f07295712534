package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/embedded/libchdb"
	"github.com/tensortap/tensortap/internal/health"
	"github.com/tensortap/tensortap/internal/system"
)

// app is shared by all commands: its outputs, and the flags that every command has.
type app struct {
	stdout, stderr io.Writer
	getenv         func(string) string

	data       string
	nats       string
	clickhouse string
	login      system.Login
	engine     string
	verbose    bool
	own        *health.Health // of this process; nil where nobody asks
	dataNamed  bool           // the folder of data was named by a flag, not by the environment
}

func newRoot(stdout, stderr io.Writer, getenv func(string) string) *cobra.Command {
	a := &app{stdout: stdout, stderr: stderr, getenv: getenv}
	root := &cobra.Command{
		Use:   "tensortap",
		Short: "Find where the numbers went wrong: which op, on which rank, at which step",
		Long: `tensortap records the ops and tensor statistics of the ranks of training jobs and
inference engines, and finds where a run first differs from another.

Exit status of compare, watch, overflow, tensor diff, and publish with --bench: 0 nothing differs or
overflows, 1 something does, 2 an error, or too little data to decide. Of run: the
program's. Of all others: 0 done, 2 an error, or a file to store that cannot be read.`,
		Example: `  tensortap compare bad/dump good/dump      compare two dumps of msProbe, nothing else needed
  tensortap run --run bad -- python t.py    record a program as it is, nothing else needed
  tensortap up                              run the whole system on this machine
  tensortap publish msprobe DIR --run bad   store a dump
  tensortap report divergence --problem bad --bench good`,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.dataNamed = cmd.Flags().Changed("data")
			return a.serversOfEnvironment()
		},
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	a.flags(root)
	a.groups(root)
	a.traced(root)
	refuseRepeated(root)
	return root
}

// groups adds the commands below the headings of help.
func (a *app) groups(root *cobra.Command) {
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Record:", []*cobra.Command{newRun(a), newPublish(a), newCapture(a), newPoke(a), newTrace(a), newDebug(a), newStop(a), newReplayRequests(a)}},
		{"Compare:", []*cobra.Command{newCompare(a), newExplain(a), newOverflow(a), newWatch(a), newBaseline(a), newMapping(a)}},
		{"Ask:", []*cobra.Command{newReport(a), newRuns(a), newQuery(a), newLogs(a), newTensor(a), newExport(a)}},
		{"Operate:", []*cobra.Command{
			a.observed(newUp(a)), a.observed(newConsume(a)), a.observed(newAgent(a)), a.observed(newJudge(a)), a.observed(newAlert(a)), a.observed(newServe(a)),
			newDoctor(a), newDisk(a), newReplay(a), newRestore(a), newVerify(a), newCredentials(a), newToken(a), newEngine(a), newVersion(a),
		}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
		}
		root.AddCommand(g.commands...)
	}
}

func (a *app) flags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&a.data, "data", a.defaultFolder(), "folder of all data (also TENSORTAP_DATA)")
	f.StringVar(&a.nats, "nats", "", "URL of a NATS server with JetStream, instead of the embedded one (also TENSORTAP_NATS, which does not show in ps)")
	f.StringVar(&a.clickhouse, "clickhouse", "", "DSN of a ClickHouse server, instead of the embedded engine (also TENSORTAP_CLICKHOUSE)")
	a.loginFlags(f)
	f.StringVar(&a.engine, "engine", a.getenv("TENSORTAP_ENGINE"), "path of the engine's library (also TENSORTAP_ENGINE)")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log everything to standard error, not only warnings")
}

// serversOfEnvironment takes servers that no flag names. They are no defaults of the flags, which help would print.
func (a *app) serversOfEnvironment() error {
	if a.nats == "" {
		a.nats = a.getenv("TENSORTAP_NATS")
	}
	if a.clickhouse == "" {
		a.clickhouse = a.getenv("TENSORTAP_CLICKHOUSE")
	}
	a.loginOfEnvironment()
	return a.serversOfFiles()
}

// program is the command line by which the user's shell calls this program again, with the folder of data that a flag
// named.
func (a *app) program() string {
	name := "tensortap"
	if started := os.Args[0]; strings.ContainsRune(started, filepath.Separator) {
		name = report.Argument(started)
	}
	if a.dataNamed {
		name += " --data " + report.Argument(a.data)
	}
	return name
}

// programAnywhere is the command line by which any shell on this machine calls this program for the same data, whatever its
// folder and environment.
func (a *app) programAnywhere() string {
	folder, err := a.folder()
	if err != nil || string(folder) == a.homeFolder() {
		return "tensortap"
	}
	return "tensortap --data " + report.Argument(string(folder))
}

func (a *app) defaultFolder() string {
	if dir := a.getenv("TENSORTAP_DATA"); dir != "" {
		return dir
	}
	return a.homeFolder()
}

// homeFolder is the folder of data where nobody names one.
func (a *app) homeFolder() string {
	base := a.getenv("XDG_DATA_HOME")
	if base == "" {
		base = filepath.Join(a.getenv("HOME"), ".local", "share")
	}
	return filepath.Join(base, "tensortap", "data")
}

// config is a system in the folder that the flags name.
func (a *app) config(folder string) (system.Config, error) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return system.Config{}, err
	}
	cfg := system.DefaultConfig(system.Folder(absolute), time.Now)
	cfg.NATS, cfg.ClickHouse, cfg.Login, cfg.Log = a.nats, a.clickhouse, a.login, a.logger()
	if a.clickhouse != "" {
		return cfg, nil
	}
	self, err := os.Executable()
	if err != nil {
		return system.Config{}, err
	}
	cfg.Command = []string{self, "engine", "serve"}
	cfg.Library, err = libchdb.Locate(libchdb.Places{
		Explicit: a.engine, UserFolder: a.engineFolder(), Tree: filepath.Dir(self),
	})
	return cfg, err
}

func (a *app) engineFolder() string {
	return libchdb.UserFolder(a.getenv("HOME"), a.getenv("XDG_DATA_HOME"))
}

// connect reaches a system, and lets its database catch up.
func (a *app) connect(ctx context.Context, endpoint system.Endpoint) (*system.Client, error) {
	client, err := system.Connect(ctx, endpoint, time.Now)
	if err != nil {
		return nil, err
	}
	client.Observe(a.own)
	a.letCatchUp(ctx, client)
	return client, nil
}

// letCatchUp waits a little, so that events published just before are in the answer.
func (a *app) letCatchUp(ctx context.Context, client *system.Client) {
	if err := client.WaitCurrent(ctx); err != nil {
		fmt.Fprintln(a.stderr, "INCOMPLETE:", printable(err))
	}
}

// streamEndpoint is the endpoint of commands that need the stream alone.
func (a *app) streamEndpoint() (system.Endpoint, error) {
	if a.nats == "" {
		return a.endpoint()
	}
	folder, err := a.folder()
	return system.Endpoint{Folder: folder, NATS: a.nats, ClickHouse: a.clickhouse, Reader: a.clickhouse, Login: a.login}, err
}

// connectStream reaches the stream alone. The caller closes it.
func (a *app) connectStream() (*system.Client, error) {
	endpoint, err := a.streamEndpoint()
	if err != nil {
		return nil, err
	}
	client, err := system.ConnectStream(endpoint, time.Now)
	if err != nil {
		return nil, err
	}
	client.Observe(a.own)
	return client, nil
}

// databaseEndpoint is the endpoint of commands that need the database alone.
func (a *app) databaseEndpoint() (system.Endpoint, error) {
	if a.clickhouse == "" {
		return a.endpoint()
	}
	return system.Endpoint{ClickHouse: a.clickhouse, Reader: a.clickhouse, Login: a.login}, nil
}

func (a *app) endpoint() (system.Endpoint, error) {
	folder, err := a.folder()
	if err != nil {
		return system.Endpoint{}, err
	}
	if a.nats != "" && a.clickhouse != "" {
		return a.elsewhere(system.Endpoint{Folder: folder}), nil
	}
	endpoint, err := folder.Find()
	return a.elsewhere(endpoint), err
}

// elsewhere is the endpoint with the flags' servers in the place of its own.
func (a *app) elsewhere(endpoint system.Endpoint) system.Endpoint {
	endpoint.Login = a.login
	if a.nats != "" {
		endpoint.NATS = a.nats
	}
	if a.clickhouse != "" {
		endpoint.ClickHouse, endpoint.Reader = a.clickhouse, a.clickhouse
	}
	return endpoint
}

func (a *app) folder() (system.Folder, error) {
	absolute, err := filepath.Abs(a.data)
	return system.Folder(absolute), err
}

// logger writes for people on a terminal, else JSON: warnings and errors, all with --verbose.
func (a *app) logger() zerolog.Logger {
	to := a.stderr
	if a.terminal(a.stderr) {
		to = zerolog.ConsoleWriter{Out: a.stderr, TimeFormat: time.TimeOnly, NoColor: a.getenv("NO_COLOR") != ""}
	}
	level := zerolog.WarnLevel
	if a.verbose {
		level = zerolog.DebugLevel
	}
	return zerolog.New(to).Level(level).With().Timestamp().Logger()
}

// colored says whether a person reads there who did not refuse colours.
func (a *app) colored(to io.Writer) bool { return a.terminal(to) && a.getenv("NO_COLOR") == "" }

// terminal says whether a person reads there.
func (*app) terminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
