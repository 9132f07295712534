package agent_test

import (
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

func TestEqualRequestsOfAStepAreAsManyAsThereAre(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	for step := range uint32(2) {
		s.Begin(step)
		for range 3 {
			s.Put(schemas.SpoolRequestKind, &schemas.SpoolRequest{PromptHash: 5, FirstPosition: 1, TokenCount: 1})
		}
		s.End(step, 0)
	}
	s.Close()
	serveUntil(t, config(t, root, l), empty(t, root))
	served := rows[schemas.RequestRow](l)
	keys := map[[2]uint64]bool{}
	for _, r := range served {
		keys[[2]uint64{uint64(r.Step), r.Seq}] = true
	}
	if len(served) != 6 || len(keys) != 6 {
		t.Errorf("%d requests with %d keys, want 6: %+v", len(served), len(keys), served)
	}
}
