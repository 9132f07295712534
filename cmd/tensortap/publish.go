package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers"
)

func newPublish(a *app) *cobra.Command {
	return choice(&cobra.Command{
		Use:   "publish",
		Short: "Store the files of another tool",
		Example: `  tensortap publish msprobe dump/ --run bad
  tensortap publish sglang-dumper /tmp/dumper/bad --run bad
  tensortap publish sglang-shapes shapes.jsonl --run bad`,
	}, "tool",
		newPublishMsprobe(a), newPublishSGLangDumper(a), newPublishSGLangShapes(a), newPublishKernelCalls(a), newPublishTensors(a),
		newPublishLogs(a), newPublishRequests(a), newPublishScalars(a), newPublishFlightRecorder(a), newPublishMemorySnapshots(a))
}

// againAndAgain is the part of the help that all tools share.
const againAndAgain = `You can stop it and start it again at any time. Files that were
published before change nothing, from any host. Other content for the same run, step
and rank is refused, unless --replace is given.

When it returns, the stream holds all events, and the database has taken them. Where it
cannot be asked, or stands still, a warning says so: the stream keeps them until it goes on.

With --bench the run is compared with a stored one as it lands, and the verdict is
printed at the end.

Exit status: 0 all is stored, 2 an error, or the files are damaged: then every readable
part is stored, and warnings name the rest; or a message became a dead letter. With --bench also 1 the runs differ, and 2
too little data to decide.`

// chosen is a tool whose files are stored, as the command's flags choose it.
type chosen func() (producers.Tool, error)

// as is a tool without a choice.
func as(tool producers.Tool) chosen { return func() (producers.Tool, error) { return tool, nil } }

// newPublishFiles completes the command that stores the files of a tool.
func newPublishFiles(a *app, choose chosen, cmd *cobra.Command) *cobra.Command {
	var (
		request system.PublishRequest
		labels  []string
		against standing
	)
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if request.Labels, err = parseLabels(labels); err != nil {
			return err
		}
		if err := against.read(cmd, request.Run); err != nil {
			return err
		}
		tool, err := choose()
		if err != nil {
			return err
		}
		request.Path = args[0]
		if err := findable(cmd, request); err != nil {
			return err
		}
		return a.publish(cmd.Context(), tool, request, &against)
	}
	cmd.Flags().StringVar(&request.Run, "run", "", "name of the run, 1 to 200 characters")
	cmd.Flags().StringArrayVar(&labels, "label", nil, "label of the run, name=value; may be given several times")
	cmd.Flags().BoolVar(&request.Replace, "replace", false, "replace other content of the same run, step and rank")
	_ = cmd.MarkFlagRequired("run")
	against.flags(a, cmd)
	return cmd
}

// findable refuses a path at which nothing is, before a system is looked for.
func findable(cmd *cobra.Command, request system.PublishRequest) error {
	_, err := os.Stat(request.Path)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("publish %s as run %s: %w", request.Path, request.Run, err)
	}
	absolute, _ := filepath.Abs(request.Path) // of a working directory that is gone it says nothing
	return fmt.Errorf("publish %s as run %s: nothing is at %s; name a file or folder that is there, as `%s --help` shows", request.Path, request.Run, cmp.Or(absolute, request.Path), cmd.CommandPath())
}

// publish stores files, and prints the result.
func (a *app) publish(ctx context.Context, tool producers.Tool, request system.PublishRequest, against *standing) error {
	client, err := a.connectPublisher(ctx, against)
	if err != nil {
		return err
	}
	defer client.Close()
	request.Waiting = a.waiting()
	progress := a.progress("publish " + request.Path)
	result, err := client.Publish(ctx, tool, request, progress.set)
	progress.finish()
	a.warn(result.Problems, result.ProblemCount)
	a.warnOversized(result.Oversized)
	if err != nil {
		return err
	}
	a.tellPublished(request, result)
	if !against.asked() {
		return notWhole(request, result)
	}
	verdict, err := a.tellStanding(ctx, client, against, a.stdout)
	return cmp.Or(notWhole(request, result), err, judged(verdict))
}

// connectPublisher reaches the stream, and the database if the run is compared with another. It declares that
// comparison first.
func (a *app) connectPublisher(ctx context.Context, against *standing) (*system.Client, error) {
	if !against.asked() {
		return a.connectStream()
	}
	endpoint, err := a.endpoint()
	if err != nil {
		return nil, err
	}
	client, err := a.connect(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	if err := client.DeclareStanding(ctx, against.request); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// waiting says why nothing goes on, once until that changes.
func (a *app) waiting() func(error) {
	var (
		mutex sync.Mutex
		last  string
	)
	return func(why error) {
		now := "going on"
		if why != nil {
			now = "waiting until the stream takes events again (the log of `tensortap up` says more): " + why.Error()
		}
		mutex.Lock()
		defer mutex.Unlock()
		if now != last {
			fmt.Fprintln(a.stderr, now)
		}
		last = now
	}
}

func parseLabels(labels []string) (map[string]string, error) {
	parsed := map[string]string{}
	for _, label := range labels {
		name, value, ok := strings.Cut(label, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("label %q: want name=value", label)
		}
		if before, twice := parsed[name]; twice && before != value {
			return nil, fmt.Errorf("label %s is given as %q and as %q: a label has one value", name, before, value)
		}
		parsed[name] = value
	}
	return parsed, nil
}

// tellPublished prints the counts of stored rows.
func (a *app) tellPublished(request system.PublishRequest, r system.PublishResult) {
	run := report.Printable(request.Run)
	if r.Already < r.Dumps {
		fmt.Fprintf(a.stdout, "run %s: published %s of %s of ranks in %s\n", run, plural.Of(r.Rows, "row"), plural.Of(r.Dumps-r.Already, "step"), plural.Of(r.Messages, "message"))
	}
	if r.Again > 0 {
		fmt.Fprintf(a.stdout, "run %s: %d of these %s published before and lost by the tables\n", run, r.Again, plural.Verb(r.Again, "was", "were"))
	}
	if r.Unchecked != nil {
		fmt.Fprintf(a.stderr, "warning: it is not known whether the tables still hold the steps that were published before: %v\n", r.Unchecked)
	}
	if r.Unconfirmed != nil && r.Unchecked == nil {
		fmt.Fprintf(a.stderr, "warning: the stream holds all of it, and it is not known whether the tables took it: %s\n", printable(r.Unconfirmed))
	}
	if r.Already > 0 {
		fmt.Fprintf(a.stdout, "run %s: %d of %s of ranks %s published before, nothing changes\n", run, r.Already, plural.Of(r.Dumps, "step"), plural.Verb(r.Already, "was", "were"))
	}
}

// notWhole is an error where part of the files is not stored: the rest is.
func notWhole(request system.PublishRequest, r system.PublishResult) error {
	if n := r.Refused.Messages; n > 0 {
		return fmt.Errorf("run %s is not stored whole: %s of it %s dead letters, as %s; `tensortap report dead-letters` has all reasons; once the cause is gone, publish it again with --replace",
			request.Run, plural.Of(n, "message"), plural.Verb(n, "is", "are"), r.Refused.First)
	}
	if r.ProblemCount == 0 && r.Oversized == 0 {
		return nil
	}
	return fmt.Errorf("run %s is not stored whole: the warnings above name the missing parts; all others are stored", request.Run)
}

// warnOversized says that events were put aside for their size.
func (a *app) warnOversized(messages int64) {
	if messages > 0 {
		fmt.Fprintf(a.stderr, "warning: %s larger than the stream takes %s put aside: tensortap report dead-letters\n", plural.Of(messages, "message"), plural.Verb(messages, "was", "were"))
	}
}

// warn prints the unreadable parts.
func (a *app) warn(problems []string, count int) {
	for _, p := range problems {
		fmt.Fprintln(a.stderr, "warning:", report.Printable(p))
	}
	if count > len(problems) {
		fmt.Fprintf(a.stderr, "warning: %s like these\n", plural.Of(count-len(problems), "more problem"))
	}
}
