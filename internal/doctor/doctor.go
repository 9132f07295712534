// Package doctor says what is wrong with an installation, in words, and what to do. It starts nothing and changes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tensortap/tensortap/internal/embedded/guard"
	"github.com/tensortap/tensortap/internal/system"
)

// State is how a part does.
type State string

// The states.
const (
	Well    State = "well"
	Wrong   State = "wrong"
	Unknown State = "unknown" // it could not be looked at
)

// Finding is how one part of the installation does.
type Finding struct {
	Part   string `json:"part"`
	State  State  `json:"state"`
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"`
}

// Installation is what is examined.
type Installation struct {
	Folder  system.Folder
	Spool   string // root of the spools of this host's processes
	Version string // of this program
	// Elsewhere says that the stream is on another disk than the folder.
	Elsewhere bool
	// Engine says what is wrong with the engine's library; nil where a server elsewhere takes its place.
	Engine func() (text string, err error)
	// Find says where the system is.
	Find func() (system.Endpoint, error)
	Now  func() time.Time
	// Processes are the addresses at which others, here or elsewhere, tell how they do.
	Processes []string
}

// patience is how long each server may take for all that it is asked.
const patience = 20 * time.Second

// Examine looks at all parts, those that need no running system first.
func Examine(ctx context.Context, in Installation) []Finding {
	e := &examination{in: in}
	e.engine()
	e.folder()
	e.disk()
	e.spills()
	e.copied()
	e.spools()
	e.system(ctx)
	e.processes(ctx)
	return e.findings
}

// examination gathers what it finds.
type examination struct {
	in       Installation
	findings []Finding
}

func (e *examination) well(part, text string, values ...any) {
	e.findings = append(e.findings, Finding{part, Well, fmt.Sprintf(text, values...), ""})
}

func (e *examination) wrong(part, remedy, text string, values ...any) {
	e.findings = append(e.findings, Finding{part, Wrong, fmt.Sprintf(text, values...), remedy})
}

func (e *examination) unknown(part, remedy, text string, values ...any) {
	e.findings = append(e.findings, Finding{part, Unknown, fmt.Sprintf(text, values...), remedy})
}

// system looks at the servers, if there are any.
func (e *examination) system(ctx context.Context) {
	endpoint, err := e.in.Find()
	switch {
	case errors.Is(err, system.ErrNotRunning):
		e.unknown("system", "start it: tensortap up; or name its servers with --nats and --clickhouse",
			"no system runs on %s, so that stream, tables and ranks could not be looked at", e.in.Folder)
		return
	case err != nil:
		e.unknown("system", "", "%v", err)
		return
	}
	e.version(endpoint)
	if endpoint.NATS != "" {
		e.reach(ctx, "stream", func(ctx context.Context) error { return e.stream(ctx, endpoint) })
	}
	if endpoint.ClickHouse != "" {
		e.reach(ctx, "database", func(ctx context.Context) error { return e.database(ctx, endpoint) })
	}
}

// reach looks at a server; what ends the look early is wrong with it.
func (e *examination) reach(ctx context.Context, server string, look func(context.Context) error) {
	looking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := look(looking)
	switch {
	case err == nil:
	case guard.Restarting(err):
		e.wrong(server, "wait some seconds and ask again; if it restarts again and again, the log of tensortap up says why, as that its memory did not suffice", "the engine restarts just now: events wait in the stream, and nothing is lost")
	default:
		e.wrong(server, "look whether it runs, can be reached from this host, and takes this login", "%v", err)
	}
}

// version holds the program that runs against this one.
func (e *examination) version(endpoint system.Endpoint) {
	switch endpoint.Version {
	case "":
		e.well("system", "its servers are asked")
	case e.in.Version:
		e.well("system", "it runs, version %s", e.in.Version)
	default:
		e.wrong("system", "start it again with this version, or use that one", "it runs with version %s, and this program is %s", endpoint.Version, e.in.Version)
	}
}

// Worst is Wrong if anything is, else Unknown if anything is, else Well.
func Worst(findings []Finding) State {
	worst := Well
	for _, f := range findings {
		if f.State == Wrong || f.State == Unknown && worst == Well {
			worst = f.State
		}
	}
	return worst
}
