package collector

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
)

// TestFaultsOfALiveRunAreFound trains a model on several ranks, as users do, and asks what users ask.
func TestFaultsOfALiveRunAreFound(t *testing.T) {
	t.Parallel()
	torch.Python(t)
	u := program.StartUp(t, t.TempDir())
	root := filepath.Join(u.Data, "spool")
	whole := []string{"--ranks", "4", "--steps", "33", "--fault-step", "30"}
	good := torch.Train(t, root, append(whole, "--run", "good")...)
	if again := torch.Train(t, root, append(whole, "--run", "good again")...); again != good || !strings.Contains(good, "last loss") {
		t.Errorf("the same run again: %s, %s", good, again)
	}
	requireSeenLive(t, u, torch.Training(t, root, append(whole, "--run", "weight", "--fault", "weight", "--fault-rank", "2")...))
	requireSketchesHold(t, u, root)
	short := []string{"--ranks", "2", "--steps", "8", "--fault-step", "5"}
	torch.Train(t, root, append(short, "--run", "nan", "--fault", "nan", "--fault-rank", "1")...)
	if out, err := torch.Training(t, root, append(short, "--run", "raise", "--fault", "raise")...).CombinedOutput(); err == nil {
		t.Errorf("a model that raises ends well: %s", out)
	}
	torch.Train(t, root, "--ranks", "2", "--steps", "40", "--run", "leak", "--fault", "leak")
	killed := torch.Training(t, root, "--ranks", "2", "--steps", "1000000", "--run", "killed")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	err := program.Await(2*time.Minute, "ten steps of the run to be killed", func() bool {
		steps := u.Query(t, "SELECT countIf(step >= 10) FROM tap_store.step WHERE run_id IN (SELECT run_id FROM tap_store.run WHERE name = 'killed')")
		return steps[0][0] != "0"
	})
	if err != nil {
		t.Error(err)
	}
	_ = syscall.Kill(-killed.Process.Pid, syscall.SIGKILL)
	_ = killed.Wait()
	program.Served(t, root)
	u.Settle(t)

	for _, c := range []struct {
		args   []string
		status int
		wants  []string
	}{
		{[]string{"compare", "good again", "good"}, 0, nil},
		{[]string{"compare", "weight", "good"}, 1, []string{"began at     step 30, rank 2", "layers.2.mix"}},
		{[]string{"overflow", "nan"}, 1, []string{"step 5, rank 1", "Module.module.layers.2.Block.forward.0", "output 0.seen.scores.1"}},
		{[]string{"report", "failures", "--run", "raise"}, 0, []string{"layers.2", "RuntimeError", "a fault on request"}},
		{[]string{"report", "memory", "--run", "leak"}, 0, []string{"grows"}},
		{[]string{"report", "completeness", "--run", "weight"}, 0, nil},
		{[]string{"report", "ranks", "--run", "good"}, 0, []string{"ended"}},
		{[]string{"report", "ranks", "--run", "killed"}, 0, []string{"died", "Module.module."}},
	} {
		out := program.Run(t, u.Setting, c.args...)
		t.Logf("tensortap %s\n%s%s", strings.Join(c.args, " "), out.Stdout, out.Stderr)
		if out.Status != c.status || strings.Contains(out.Stdout, "INCOMPLETE") {
			t.Errorf("%q: status %d, want %d", c.args, out.Status, c.status)
		}
		for _, want := range c.wants {
			if !strings.Contains(out.Stdout, want) {
				t.Errorf("%q lacks %q", c.args, want)
			}
		}
	}
}

// soon is many times what a machine with nothing else to do needs: tests share theirs.
const soon = time.Minute

// requireSeenLive watches a run while it trains, whose weight is scaled behind autograd's back on one rank: the watch names
// the module, the rank and the step, and soon.
func requireSeenLive(t *testing.T, u *program.Up, trained *exec.Cmd) {
	t.Helper()
	w := program.Watch(t, u, "weight", "good", "--until-diverged", "--idle", "5m")
	if err := trained.Start(); err != nil {
		t.Fatal(err)
	}
	e := w.Next(t, "divergence")
	seen := time.Now()
	if err := trained.Wait(); err != nil {
		t.Error(err)
	}
	if *e.Step != 30 || *e.Rank != 2 || e.Module != "module.layers.2.mix" {
		t.Errorf("divergence: %+v", e)
	}
	u.Settle(t)
	rows := u.Query(t, "SELECT any(end_time_ns) FROM tap.steps WHERE run_id = xxh3('weight' || char(31)) AND step = 30 AND rank = 2")
	late := seen.Sub(time.Unix(0, int64(program.Number(t, rows[0][0]))))
	t.Logf("the watch named %s of step %d on rank %d %v after the step had ended", e.Op, *e.Step, *e.Rank, late)
	if late > soon {
		t.Errorf("that is later than %v", soon)
	}
}

// requireSketchesHold compares two runs whose tensors of many shapes differ by known errors: the interval that 95 % of estimates
// from sketches should lie in holds at least 93 % of them.
func requireSketchesHold(t *testing.T, u *program.Up, root string) {
	t.Helper()
	shapes := torch.Collecting(t, root, "-m", "tests.shapes", "shapes good", "shapes bad")
	said, err := shapes.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var errors map[string]float64
	if err := json.Unmarshal([]byte(program.LastLine(string(said))), &errors); err != nil {
		t.Fatal(err)
	}
	program.Served(t, root)
	u.Settle(t)
	out := program.Run(t, u.Setting, "compare", "shapes bad", "shapes good", "--output", "json", "--limit", "1000", "--tolerance", "1e-9")
	var compared struct {
		Divergence []struct {
			Op, Role, Evidence string
			Error              float64
		}
	}
	if err := json.Unmarshal([]byte(out.Stdout), &compared); err != nil {
		t.Fatalf("%v: %v", err, out)
	}
	const least, most = 0.657, 1.343 // the square of the ratio is chi-square of 16 degrees over 16, 95 % of which lie so
	held, seen := 0, 0
	for _, d := range compared.Divergence {
		if ratio := d.Error / errors[d.Op]; d.Role == "output" && d.Evidence == "sketch" {
			seen++
			if least <= ratio && ratio <= most {
				held++
			}
		}
	}
	t.Logf("of %d errors estimated from sketches %d are within their interval of 95 %%", seen, held)
	if seen != len(errors) || held*100 < 93*seen {
		t.Errorf("want all of %d, and 93 %% of them", len(errors))
	}
}
