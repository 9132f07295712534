package credentials_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// host is a machine on which an agent serves what ranks record.
type host struct {
	data string
	said chan string
}

// serve has the user of a role serve the host until the test ends.
func (h *host) serve(t *testing.T, f *fleet, role string) {
	t.Helper()
	client, err := system.ConnectStream(system.Endpoint{Folder: system.Folder(h.data), NATS: f.url, Login: system.Login{Creds: f.seed(role)}}, time.Now)
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var serving errgroup.Group
	serving.Go(func() error {
		return client.Serve(ctx, system.ServeRequest{
			Spool: filepath.Join(h.data, "spool"), Payloads: filepath.Join(h.data, "payloads"), Tell: func(line string) { h.said <- line },
		})
	})
	t.Cleanup(func() {
		stop()
		if err := serving.Wait(); err != nil {
			t.Errorf("%s serves a host: %v", role, err)
		}
		client.Close()
	})
}

// keep has the host keep what a process of the run printed, and its traces and raw tensors.
func (h *host) keep(t *testing.T, run, epoch string) (folders []string) {
	t.Helper()
	id := schemas.FormatID(schemas.RunID(run))
	folders = []string{filepath.Join(h.data, "logs", id), filepath.Join(h.data, "traces", id), filepath.Join(h.data, "payloads", "41-"+epoch)}
	for _, folder := range folders {
		must(t, os.MkdirAll(folder, 0o700))
		must(t, os.WriteFile(filepath.Join(folder, "file"), []byte("kept"), 0o600))
	}
	return folders
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestAnAgentWithItsOwnUserRemovesFilesOfDeletedRuns has one run be deleted before the agent starts and another while it serves, after
// a time in which nothing was ever decided.
func TestAnAgentWithItsOwnUserRemovesFilesOfDeletedRuns(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	must(t, pipelines.Prepare(t.Context(), f.as(t, "consume").js, config(t)))
	agent, operator := f.as(t, "agent"), f.as(t, "operator")
	for run, epoch := range map[string]uint64{"before": 7, "meanwhile": 8, "good": 9} {
		_, err := pipelines.Admit(t.Context(), agent.js, pipelines.StartRequest{RunID: schemas.RunID(run), Epoch: epoch})
		must(t, err)
	}
	first, second := &host{t.TempDir(), make(chan string, 100)}, &host{t.TempDir(), make(chan string, 100)}
	first.serve(t, f, "agent")
	gone := append(first.keep(t, "before", "0000000000000007"), first.keep(t, "meanwhile", "0000000000000008")...)
	stay := first.keep(t, "good", "0000000000000009")
	gone = append(gone, second.keep(t, "before", "0000000000000007")...)

	fates, err := pipelines.OpenFates(t.Context(), operator.js)
	must(t, err)
	_, err = fates.Delete(t.Context(), "before", time.Unix(1, 0), false)
	must(t, err)
	second.serve(t, f, "agent")
	eventually(t, "files of the first run are gone", func() bool { return !there(gone[0]) && !there(gone[6]) })
	_, err = fates.Delete(t.Context(), "meanwhile", time.Unix(2, 0), false)
	must(t, err)
	for _, folder := range gone {
		eventually(t, folder+" is gone", func() bool { return !there(folder) })
	}
	for _, folder := range stay {
		if !there(folder) {
			t.Errorf("%s of a run that stays is gone", folder)
		}
	}
}

func TestAProducerSaysThatItMayNotSeeWhichRunsWereDeleted(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	must(t, pipelines.Prepare(t.Context(), f.as(t, "consume").js, config(t)))
	_, err := pipelines.OpenFates(t.Context(), f.as(t, "operator").js)
	must(t, err)
	h := &host{t.TempDir(), make(chan string, 100)}
	h.serve(t, f, "producer")
	for said := range h.said {
		if strings.Contains(said, "its user of NATS may not see what was deleted, the user agent may") {
			return
		}
	}
}
