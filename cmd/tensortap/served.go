package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers/requests"
	"github.com/tensortap/tensortap/schemas"
)

// servedRequests has the flags of run for the requests that a server of the program gets.
type servedRequests struct {
	keepPrompts bool
	routes      []string
	off         bool
	folder      string // of one launch; empty where nothing is recorded
}

func (s *servedRequests) flags(f *pflag.FlagSet) {
	f.BoolVar(&s.keepPrompts, "keep-prompts", false, "store the text of requests that a server of the program gets, and its answers, which are personal data; else their hashes")
	f.StringSliceVar(&s.routes, "record-routes", nil, "further routes of such a server to record, as /mine, or off to record none")
}

func (s *servedRequests) check() error {
	if len(s.routes) == 1 && s.routes[0] == logsOff {
		s.off = true
		return nil
	}
	for _, route := range s.routes {
		if !strings.HasPrefix(route, "/") || strings.ContainsAny(route, "\n,") {
			return fmt.Errorf("--record-routes %q: want paths, as /generate, or %s alone", route, logsOff)
		}
	}
	return nil
}

// requestsFolder is where recordings of a run lie until they are stored.
func (a *app) requestsFolder(run string) (string, error) {
	folder, err := a.folder()
	return filepath.Join(string(folder), "requests", schemas.FormatID(schemas.RunID(run))), err
}

// begin makes the folder of a launch, and returns what tells the program's processes of it.
func (s *servedRequests) begin(a *app, run string) ([]string, error) {
	if s.off {
		return []string{"TENSORTAP_REQUESTS="}, nil // that of a launch around this one
	}
	below, err := a.requestsFolder(run)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(below, time.Now().UTC().Format("20060102T150405.000000000"))
	if err := os.MkdirAll(folder, 0o700); err != nil { // which is no reason not to run the program
		a.tellLaunch("requests are not recorded: " + printable(err))
		return nil, nil
	}
	s.folder = folder
	keep := ""
	if s.keepPrompts {
		keep = "keep"
	}
	return []string{"TENSORTAP_REQUESTS=" + strings.Join([]string{folder, keep, strings.Join(s.routes, ",")}, "\n")}, nil
}

// store publishes what was recorded, and removes the files then. What fails here or cannot be read is said, and the files stay.
func (s *servedRequests) store(ctx context.Context, a *app, client *system.Client, run string) {
	if s.folder == "" {
		return
	}
	if entries, err := os.ReadDir(s.folder); err == nil && len(entries) == 0 {
		s.remove()
		if s.keepPrompts {
			a.tellLaunch("no request is recorded: no process of the program got one by an application of Starlette or FastAPI")
		}
		return
	}
	all, lost, err := requests.Read(s.folder)
	problems := lost.Count
	if err == nil {
		tool := requests.Tool(requests.Options{KeepPrompts: s.keepPrompts, Zone: time.UTC})
		var result system.PublishResult
		result, err = client.Publish(ctx, tool, system.PublishRequest{Path: s.folder, Run: run}, func(int64, int64) {})
		a.warn(result.Problems, result.ProblemCount)
		problems = max(problems, result.ProblemCount)
	}
	if err != nil {
		a.tellLaunch(fmt.Sprintf("requests that the program got are not stored: %v; they stay in %s, for tensortap publish requests", printable(err), report.Printable(s.folder)))
		return
	}
	s.settle(a, run, len(all), problems)
}

// settle removes the files of what is stored, unless some of it could not be read.
func (s *servedRequests) settle(a *app, run string, count, problems int) {
	if problems == 0 {
		s.remove()
	}
	a.tellLaunch(fmt.Sprintf("requests that are recorded: %d%s", count, s.next(a.program(), run)))
	if problems > 0 {
		a.tellLaunch(fmt.Sprintf("not all that was recorded of requests could be read (problems: %d): the recording stays in %s", problems, report.Printable(s.folder)))
	}
}

// next is how they are sent again.
func (s *servedRequests) next(program, run string) string {
	if !s.keepPrompts {
		return ", without their text: they cannot be sent again (--keep-prompts keeps it)"
	}
	return "; next: " + program + " replay-requests --from " + report.Argument(run) + " --to URL"
}

// remove removes what is stored, and the run's folder where no other launch is in it.
func (s *servedRequests) remove() {
	if s.folder == "" {
		return
	}
	_ = os.RemoveAll(s.folder) // what is left is published again, and changes nothing
	_ = os.Remove(filepath.Dir(s.folder))
}

// unstoredRequests are those of a run that goes on, or whose end nobody saw, on this machine.
func (a *app) unstoredRequests(run string) ([]requests.Recorded, error) {
	folder, err := a.requestsFolder(run)
	if err != nil {
		return nil, err
	}
	all, problems, err := requests.Read(folder)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, requests.ErrNoRequests) {
		return nil, nil
	}
	a.warn(problems.First, problems.Count)
	return all, err
}
