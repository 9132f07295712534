package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/system"
)

func newAgent(a *app) *cobra.Command {
	var (
		spool  string
		resume bool
		rules  string
		files  system.Following
	)
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Publish the events of this host's collectors, until Ctrl-C",
		Long: `Publish the events of this host's collectors, until Ctrl-C. Each observed process
writes into a folder of its own below the spool root. The agent publishes the events,
and deletes them here once the stream has them. You can stop or kill it, and start it
again, at any time: nothing is lost and nothing is stored twice.

tensortap up has an agent inside. On other hosts run one with --nats.

A rank that died may be started again under the name of its run; steps that it repeats
replace the old ones. A rank that ended by itself may be started again only with
--resume, or if the run itself allows it.

With --retention it lets spools go that nobody serves, after the time of delete_spools_after, and
leaves the other rules of that file to tensortap consume.`,
		Example: `  tensortap agent --nats nats://nats:4222
  tensortap agent --spool /local/disk/spool
  tensortap agent --follow '/var/log/sglang/*.log' --run serving`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(needsOfHost().check("agent"), embedded.CloseToOthers()); err != nil {
				return err
			}
			read, err := readRules(rules)
			if err != nil {
				return err
			}
			client, err := a.connectStream()
			if err != nil {
				return err
			}
			defer client.Close()
			request := a.serving(spool)
			request.Resume, request.Follow = resume, files
			request.Rules = read
			if request.Follow.Run == "" {
				request.Follow.Run = a.getenv("TENSORTAP_RUN")
			}
			a.tellServing("serving the processes below " + request.Spool)
			return client.Serve(cmd.Context(), request)
		},
	}
	cmd.Flags().StringVar(&spool, "spool", "", "root of the spools (also TENSORTAP_SPOOL); by default that of this user's collectors")
	retentionFlag(cmd, &rules)
	cmd.Flags().BoolVar(&resume, "resume", false, "let ranks that have ended go on under the same run")
	cmd.Flags().StringArrayVar(&files.Patterns, "follow", nil, "publish also the lines of files that match this `PATTERN`, as they are written; may be given again")
	cmd.Flags().StringVar(&files.Run, "run", "", "run of the files that are followed (also TENSORTAP_RUN)")
	return cmd
}

// serving is a request to serve the given root or, when that is empty, the root of the environment.
func (a *app) serving(spool string) system.ServeRequest {
	if spool == "" {
		spool = a.spoolRoot()
	}
	return system.ServeRequest{Spool: spool, Payloads: a.payloads(), Tell: a.tellServing, Waiting: a.waiting()}
}

// payloads is the folder of raw tensors captured on this host.
func (a *app) payloads() string {
	absolute, err := filepath.Abs(a.data) // the processes work elsewhere
	if err != nil {
		absolute = a.data
	}
	return filepath.Join(absolute, "payloads")
}

func (a *app) tellServing(text string) {
	fmt.Fprintln(a.stderr, "agent:", report.Printable(text))
}

// spoolRoot is the root of this user's collectors, by the same rules as theirs.
func (a *app) spoolRoot() string {
	if root := a.getenv("TENSORTAP_SPOOL"); root != "" {
		return a.atHome(root)
	}
	folder := a.getenv("TMPDIR")
	if folder == "" {
		folder = lastingFolder("/var/tmp", "/tmp")
	}
	return filepath.Join(folder, "tensortap-"+strconv.Itoa(os.Getuid()))
}

// lastingFolder is the first that is there and may be written, else the last. What is in /run/user is removed as its user
// logs out, though processes go on.
func lastingFolder(folders ...string) string {
	const writeAndEnter = 3
	for _, folder := range folders {
		if syscall.Access(folder, writeAndEnter) == nil {
			return folder
		}
	}
	return folders[len(folders)-1]
}

// atHome is the path with ~/ at its beginning replaced: variables of an environment file see no shell that would do it.
func (a *app) atHome(path string) string {
	home := a.getenv("HOME")
	if home != "" && (path == "~" || strings.HasPrefix(path, "~/")) {
		return filepath.Join(home, path[1:])
	}
	return path
}
