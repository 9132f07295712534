package answers

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/pipelines"
)

// kept is how many messages the stream has had, and how many rows lie in the tables of a comparison.
func kept(t *testing.T, u *program.Up) []string {
	t.Helper()
	u.Settle(t)
	stream, err := program.ConnectStream(t, u.Endpoint.NATS).Stream(t.Context(), pipelines.StreamName)
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	counts := []string{fmt.Sprint(info.State.LastSeq)}
	for _, table := range []string{"comparison", "finding", "declared_comparison", "judged_step", "verdict", "alignment"} {
		counts = append(counts, u.Query(t, "SELECT count() FROM tap_store."+table)[0][0])
	}
	return counts
}

func TestTheSameAnswerIsStoredOnce(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir())
	for _, dump := range []string{"B05_extra_op_mix", "B00_golden_mix", "B02_weight_mix"} {
		u.Publish(t, recorded.Unpack(t, dump), dump)
	}
	u.Settle(t)
	compare := func(args ...string) {
		t.Helper()
		if out := program.Run(t, u.Setting, append([]string{"compare"}, args...)...); out.Status == program.ExitError {
			t.Fatalf("compare %q: %v", args, out)
		}
	}
	both := func() {
		compare("B02_weight_mix", "B00_golden_mix")
		compare("B05_extra_op_mix", "B00_golden_mix", "--steps", "0")
	}
	both()
	first := kept(t, u)
	both()
	if again := kept(t, u); !slices.Equal(again, first) {
		t.Errorf("asked again, stream and tables hold %v, want %v", again, first)
	}
	compare("B02_weight_mix", "B00_golden_mix", "--tolerance", "0")
	if other := kept(t, u); other[1] != "3" || other[3] != "3" {
		t.Errorf("another question: %v, want 3 comparisons, declared and answered", other)
	}
	const latest = "SELECT (SELECT argMax(tolerance, declared_time_ns) FROM tap.declared_comparisons WHERE problem = 'B02_weight_mix')"
	compare("B02_weight_mix", "B00_golden_mix")
	u.Settle(t)
	if got := u.Query(t, latest)[0][0]; got != "-1" {
		t.Errorf("the comparison that was asked for last has tolerance %s, want -1", got)
	}
}
