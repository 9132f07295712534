package system

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/pipelines"
)

// hostFiles are the files of runs on the host of an agent.
type hostFiles struct {
	client *Client
	local  retention.Local
	seen   uint64 // place of what was decided last
	tell   func(string)
	failed error  // files that could not be removed in this look
	told   string // the last reason why files stay
}

func (c *Client) newHostFiles(r ServeRequest) *hostFiles { //nolint:gocritic // as Serve has it
	local := c.Endpoint.Folder.local(r.Spool)
	local.Payloads = r.Payloads
	return &hostFiles{client: c, local: local, tell: r.Tell}
}

// removeDeleted removes what the host keeps of deleted runs, until ctx ends.
func (h *hostFiles) removeDeleted(ctx context.Context) {
	tick := time.NewTicker(deleteAgain)
	defer tick.Stop()
	for h.look(ctx) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// look is false where there is no use in looking again.
func (h *hostFiles) look(ctx context.Context) (again bool) {
	h.failed = nil
	seen, err := pipelines.FatesSince(ctx, h.client.stream, h.seen, h.remove)
	if h.failed == nil {
		h.seen = seen // else all since then is removed again
	}
	err = errors.Join(err, h.failed)
	switch {
	case ctx.Err() != nil:
		return false
	case err == nil:
		h.told = ""
		return true
	case errors.Is(err, nats.ErrPermissionViolation):
		h.tell("files of deleted runs stay on this host: its user of NATS may not see what was deleted, the user agent may; remove them by hand, or have tensortap credentials make the users anew")
		return false
	case err.Error() != h.told: // else it is known
		h.told = err.Error()
		h.tell("files of deleted runs stay on this host for now: " + h.told)
	}
	return true
}

func (h *hostFiles) remove(id uint64, fate pipelines.Fate) { //nolint:gocritic // as it is told
	for _, part := range fate.Removals() {
		if err := h.local.Remove(id, part, fate.Epochs); err != nil {
			h.failed = errors.Join(h.failed, fmt.Errorf("run %s: %w", fate.Name, err))
		}
	}
}
