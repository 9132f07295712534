package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/debugger"
	"github.com/tensortap/tensortap/internal/handover"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// debugPatience is a few beats of the processes' hearts, and the import of debugpy by each.
const debugPatience = time.Minute

func newDebug(a *app) *cobra.Command {
	k := asking{request: agent.Request{Do: agent.DoDebug}}
	cmd := &cobra.Command{
		Use:   "debug --run NAME",
		Short: "Let a debugger attach to ranks of a live run",
		Long: `Let a debugger attach to ranks of a live run, also to one that hangs: debugpy listens there
on the loopback device, at port 5678 for rank 0, 5679 for rank 1 and so on. The rank runs
on until a debugger stops it. Prints where to attach, and writes a launch.json for VS
Code, with a compound of all ranks.

Any user of the rank's host can connect to such a port: debugpy asks for no password.

Exit status: 0 every rank listens, 2 some rank does not, or an error.`,
		Example: `  tensortap debug --run bad --rank 3
  tensortap debug --run bad --debug-port 6000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if k.request.Port < 0 || k.request.Port >= 1<<16 {
				return fmt.Errorf("--debug-port %d: want 1 to 65535", k.request.Port)
			}
			asked, err := a.askRun(cmd.Context(), &k)
			if err != nil {
				return err
			}
			return errors.Join(a.tellAsked(&k, &asked), a.tellListeners(k.run, &asked))
		},
	}
	k.flags(a, cmd, debugPatience)
	cmd.Flags().IntVar(&k.request.Port, "debug-port", 0, "port of rank 0; by default as the run was launched, else 5678")
	return cmd
}

// tellListeners says how to reach ranks that listen, and writes that down for editors.
func (a *app) tellListeners(run string, asked *system.Asked) error {
	here, _ := os.Hostname() // without a name, all hosts are others
	var targets []debugger.Target
	for i := range asked.Answers {
		answer := &asked.Answers[i]
		_, text, _ := strings.Cut(answer.Reason, ":")
		port, err := strconv.Atoi(text)
		if answer.State != agent.StateListening || err != nil {
			continue
		}
		targets = append(targets, debugger.Target{Rank: int64(answer.Rank), Port: port})
		if answer.Host != here {
			fmt.Fprintf(a.stdout, "from this host: ssh -L %[1]d:%[2]s:%[1]d %[3]s\n", port, debugger.Host, report.Argument(answer.Host))
		}
	}
	if len(targets) == 0 {
		return nil
	}
	path, err := a.writeLaunch(run, targets)
	if err == nil {
		fmt.Fprintln(a.stdout, "for VS Code: "+report.Printable(path))
	}
	return err
}

func (a *app) writeLaunch(run string, targets []debugger.Target) (string, error) {
	folder, err := a.folder()
	if err != nil {
		return "", err
	}
	return debugger.WriteLaunch(filepath.Join(string(folder), "debug", schemas.FormatID(schemas.RunID(run))), targets)
}

// debugFlags are the collector's settings that let people into its processes.
func (l *launching) debugFlags(f *pflag.FlagSet) {
	for name, usage := range map[string]string{
		"debug":       "let a debugger attach to these ranks, as 0,3, each of which waits for it before its first line",
		"debug-port":  "port of rank 0 on the loopback device; that of another rank is as much higher; by default 5678",
		"debug-wait":  "seconds that a rank waits for its debugger; by default 600",
		"post-mortem": "where an op raises, stand in pdb at this terminal",
	} {
		l.settings[name] = f.String(name, "", usage)
	}
	f.Lookup("post-mortem").NoOptDefVal = "on"
}

// debugTargets are the ranks that wait for a debugger. An error is what no rank could do as asked.
func (l *launching) debugTargets() ([]debugger.Target, error) {
	ranks, first := *l.settings["debug"], debugger.FirstPort
	if text := *l.settings["debug-port"]; text != "" {
		port, err := strconv.Atoi(text)
		if err != nil || port < 1 || port >= 1<<16 {
			return nil, fmt.Errorf("--debug-port %s: want 1 to 65535", strconv.Quote(text))
		}
		first = port
	}
	if text := *l.settings["debug-wait"]; text != "" {
		if seconds, err := strconv.ParseFloat(strings.TrimSuffix(text, "s"), 64); err != nil || seconds < 0 {
			return nil, fmt.Errorf("--debug-wait %s: want seconds, 0 for none", strconv.Quote(text))
		}
	}
	if ranks == "" {
		return nil, nil
	}
	targets, err := debugger.Targets(ranks, first)
	if err == nil {
		err = debugger.CheckFree(targets)
	}
	if err != nil {
		return nil, fmt.Errorf("--debug %s: %w", strconv.Quote(ranks), err)
	}
	return targets, nil
}

// people are let into the processes of a program: by debuggers, and by the terminal.
type people struct {
	environment []string
	leave       func()
}

// letPeopleIn says how to attach to the ranks that wait for it, and lends the terminal to breakpoints.
func (a *app) letPeopleIn(ctx context.Context, l launching) (people, error) {
	targets, err := l.debugTargets()
	if err != nil {
		return people{}, err
	}
	if len(targets) > 0 {
		path, err := a.writeLaunch(l.run, targets)
		if err != nil {
			return people{}, err
		}
		for _, target := range targets {
			a.tellLaunch(fmt.Sprintf("rank %d listens for a debugger at %s, once it has started", target.Rank, target.Address()))
		}
		a.tellLaunch("for VS Code: " + report.Printable(path))
	}
	lender, err := handover.Open(os.Stdin)
	if err != nil { // which is no reason not to run the program
		a.tellLaunch(printable(err))
		return people{leave: func() {}}, nil
	}
	lending, stop := context.WithCancel(context.WithoutCancel(ctx))
	var group errgroup.Group
	group.Go(func() error { return lender.Serve(lending) })
	return people{environment: []string{handover.Variable + "=" + lender.Path()}, leave: func() {
		stop()
		_ = group.Wait() // what is left is an empty folder
	}}, nil
}
