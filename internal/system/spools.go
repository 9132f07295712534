package system

import (
	"context"
	"fmt"
	"time"

	"github.com/tensortap/tensortap/internal/retention"
	"github.com/tensortap/tensortap/producers/agent"
)

// letSpoolsGo lets spools go whose time is over by the rules and that nobody serves, until ctx ends.
func (c *Client) letSpoolsGo(ctx context.Context, r ServeRequest, serving *agent.Agent) error { //nolint:gocritic // as Serve has it
	if !r.Rules.Spools() {
		return nil
	}
	over := func(s agent.Spool) bool {
		at, goes := r.Rules.SpoolGoes(s.Run, s.Touched)
		return goes && !s.Touched.IsZero() && !at.After(c.now())
	}
	tick := time.NewTicker(r.Rules.LookEvery())
	defer tick.Stop()
	for {
		if err := serving.LetGo(over); err != nil {
			r.Tell(fmt.Sprintf("spools whose time is over stay for now: %v", err))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// spoolPart is how a spool stands among the parts of a run.
const spoolPart = "spool"

// spoolLifetimes are when the spools below a root on this host go, if nobody serves them until then.
func spoolLifetimes(rules retention.Rules, root string) ([]Lifetime, error) {
	found, err := agent.Spools(root)
	var lives []Lifetime
	for i := range found {
		if at, goes := rules.SpoolGoes(found[i].Run, found[i].Touched); goes {
			lives = append(lives, Lifetime{Run: found[i].Run, Part: spoolPart, Goes: at, Bytes: uint64(max(0, found[i].Bytes))}) //nolint:gosec // a size
		}
	}
	return lives, err
}
