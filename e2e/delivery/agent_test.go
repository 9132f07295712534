package delivery

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

func TestUpPublishesWhatTheCollectorsOfItsHostSee(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir())
	root := filepath.Join(u.Data, "spool")
	for i, run := range []string{"seen good", "seen bad"} {
		for rank := range uint32(2) {
			s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: run, Rank: rank, Epoch: uint64(1+2*i) + uint64(rank), Fields: map[string]any{"world_size": 2}})
			for step := range uint32(5) {
				if i == 1 && step == 3 {
					s.Fault("Module.layers.1.Linear.forward.0", 64)
				}
				s.Step(step, 4)
			}
			s.Close()
		}
	}
	program.Served(t, root)
	u.Settle(t)
	if got := u.Query(t, "SELECT run, count(), uniqExact(rank), uniqExact(step) FROM tap.tensors WHERE run LIKE 'seen%' GROUP BY run ORDER BY run"); fmt.Sprint(got) != "[[seen bad 80 2 5] [seen good 80 2 5]]" {
		t.Errorf("tensors stored: %v", got)
	}
	out := program.Run(t, u.Setting, "compare", "seen bad", "seen good")
	if out.Status != 1 || !strings.Contains(out.Stdout, "layers.1.Linear") || !strings.Contains(out.Stdout, "step 3") {
		t.Errorf("compare: %v", out)
	}
	if out := program.Run(t, u.Setting, "compare", "seen good", "seen good"); out.Status != 0 {
		t.Errorf("compare with itself: %v", out)
	}
}

// soakKills is how often a victim is killed.
func soakKills(tb testing.TB, usual int) int {
	tb.Helper()
	text := os.Getenv("TENSORTAP_SOAK_KILLS")
	if text == "" {
		return usual
	}
	kills, err := strconv.Atoi(text)
	if err != nil {
		tb.Fatal(err)
	}
	return kills
}

// twoWriters is two processes that write steps of the same run.
type twoWriters struct {
	root    string
	writers []*testbed.Spool
	step    uint32
}

// writersModules is how many modules their model has, with two tensors each.
const writersModules = 50

func newTwoWriters(tb testing.TB, run string) *twoWriters {
	tb.Helper()
	root, now := tb.TempDir(), time.Now() // of both, so that both tell the same of the run
	return &twoWriters{root: root, writers: []*testbed.Spool{
		testbed.NewSpool(tb, root, testbed.SpoolOptions{Run: run, Rank: 0, Epoch: 1, Started: now}),
		testbed.NewSpool(tb, root, testbed.SpoolOptions{Run: run, Rank: 1, Epoch: 2, SegmentRows: 700, Started: now}),
	}}
}

func (p *twoWriters) write(steps int) {
	for range steps {
		for _, s := range p.writers {
			s.Step(p.step, writersModules)
		}
		p.step++
	}
}

func (p *twoWriters) writeFor(least time.Duration) {
	for begin := time.Now(); time.Since(begin) < least; {
		p.write(1)
	}
}

// requireAll fails the test unless every tensor is stored, once.
func (p *twoWriters) requireAll(tb testing.TB, u *program.Up, run string) {
	tb.Helper()
	u.Settle(tb)
	tensors := int(p.step) * writersModules * 2
	want := fmt.Sprintf("[[0 %d %d %d] [1 %d %d %d]]", tensors, tensors, p.step, tensors, tensors, p.step)
	got := fmt.Sprint(u.Query(tb, "SELECT rank, count(), uniqExact(seq), uniqExact(step) FROM tap_store.tensor WHERE run_id IN (SELECT run_id FROM tap.runs WHERE name = '"+run+"') GROUP BY rank ORDER BY rank"))
	if got != want {
		tb.Errorf("rank, tensors, distinct ones, steps: %s, want %s", got, want)
	}
	if out := program.Run(tb, u.Setting, "report", "completeness", "--run", run); out.Status != 0 || strings.Contains(out.Stdout, "INCOMPLETE") {
		tb.Errorf("completeness: %v", out)
	}
	stream, err := tallyStream(tb.Context(), program.ConnectStream(tb, u.Endpoint.NATS))
	if err != nil {
		tb.Error(err)
	}
	tb.Logf("%d steps of each of 2 ranks, %d messages in the stream, %d of them twice", p.step, stream.messages, stream.repeated)
}

func TestAgentsThatAreKilledLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	u, p := program.StartUp(t, t.TempDir()), newTwoWriters(t, "killed")
	random := rand.New(rand.NewPCG(3, 4))
	p.write(300) // so that most are killed while they publish
	for range soakKills(t, 20) {
		agent := program.Command(t, u.Setting, "agent", "--spool", p.root)
		var said testbed.Buffer
		agent.Stderr = &said
		if err := agent.Start(); err != nil {
			t.Fatal(err)
		}
		p.writeFor(upTo(random, 400*time.Millisecond))
		_ = agent.Process.Kill()
		if err := agent.Wait(); agent.ProcessState.Exited() {
			t.Fatalf("the agent ended by itself: %v\n%s", err, &said)
		}
	}
	for _, s := range p.writers {
		s.Close()
	}
	last := program.NewUp(u.Data, program.Command(t, u.Setting, "agent", "--spool", p.root))
	if err := last.Begin(); err != nil {
		t.Fatal(err)
	}
	program.Served(t, p.root)
	if err := last.Stop(); err != nil {
		t.Error(err)
	}
	p.requireAll(t, u, "killed")
}

func TestASystemThatIsKilledWithItsAgentLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	p, data := newTwoWriters(t, "killed"), t.TempDir()
	random := rand.New(rand.NewPCG(5, 6))
	for range soakKills(t, 5) {
		u := program.StartUp(t, data, "--spool", p.root)
		p.write(50)
		p.writeFor(upTo(random, 400*time.Millisecond))
		if err := u.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range p.writers {
		s.Close()
	}
	u := program.StartUp(t, data, "--spool", p.root)
	program.Served(t, p.root)
	p.requireAll(t, u, "killed")
}

// TestRanksThatAreKilledInMidStepLeaveWhatTheyCommitted kills ranks that train, with nobody about, and has them told of after.
func TestRanksThatAreKilledInMidStepLeaveWhatTheyCommitted(t *testing.T) {
	t.Parallel()
	u, root := program.Shared(t), t.TempDir()
	said, err := torch.Collecting(t, root, "-m", "tests.killed", strconv.Itoa(soakKills(t, 3))).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var committed map[string]struct {
		Tensors int
		Op      string
	}
	if err := json.Unmarshal([]byte(program.LastLine(string(said))), &committed); err != nil {
		t.Fatal(err)
	}
	agent := program.NewUp(u.Data, program.Command(t, u.Setting, "agent", "--spool", root))
	if err := agent.Begin(); err != nil {
		t.Fatal(err)
	}
	program.Served(t, root)
	if err := agent.Stop(); err != nil {
		t.Error(err)
	}
	u.Settle(t)
	stored := map[string]int{}
	for _, row := range u.Query(t, "SELECT name, count() FROM tap_store.tensor AS t INNER JOIN tap.runs AS r ON r.run_id = t.run_id WHERE name LIKE 'killed rank %' GROUP BY name") {
		stored[row[0]] = program.Number(t, row[1])
	}
	for run, want := range committed {
		if stored[run] != want.Tensors {
			t.Errorf("%s: %d tensors are stored, %d were committed", run, stored[run], want.Tensors)
		}
		if out := program.Run(t, u.Setting, "report", "ranks", "--run", run); !strings.Contains(out.Stdout, "died") || !strings.Contains(out.Stdout, " "+want.Op+" ") {
			t.Errorf("%s died in %s: %v", run, want.Op, out)
		}
	}
	t.Logf("%d ranks were killed", len(committed))
}

// serve runs an agent on the root until the condition holds, and returns what it said.
func serve(tb testing.TB, u *program.Up, root string, done func(said string) bool, args ...string) string {
	tb.Helper()
	agent := program.NewUp(u.Data, program.Command(tb, u.Setting, append([]string{"agent", "--spool", root}, args...)...))
	if err := agent.Begin(); err != nil {
		tb.Fatal(err)
	}
	err := program.Await(30*time.Second, "an agent on "+root, func() bool { return done(agent.Stderr.String()) })
	if err != nil {
		tb.Errorf("%v\n%s", err, agent.Stderr)
	}
	if err := agent.Stop(); err != nil {
		tb.Error(err)
	}
	return agent.Stderr.String()
}

func TestARankThatIsStartedAgainTakesThePlaceOfItsOldSteps(t *testing.T) {
	t.Parallel()
	u, root := program.Shared(t), t.TempDir()
	run := "started again in " + root // of this repetition: a run that has ended in the shared system is refused
	isEmpty := func(string) bool { return program.Published(root) }
	ended := exec.CommandContext(t.Context(), "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	died := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: run, Epoch: 11, PID: ended.Process.Pid, Started: time.Now().Add(-time.Hour)})
	for step := range uint32(6) {
		died.Step(step, 3)
	}
	died.Begin(6)
	died.Tensor("Module.layers.0.Linear.forward.0", "input", "0", died.Call("Module.layers.0.Linear.forward.0", "", schemas.SpoolOpOpens, 0), 1)
	if said := serve(t, u, root, isEmpty); !strings.Contains(said, "died") {
		t.Errorf("the agent says %s", said)
	}
	again := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: run, Epoch: 12})
	again.Fault("Module.layers.0.Linear.forward.0", 100)
	for step := uint32(5); step < 8; step++ {
		again.Step(step, 3)
	}
	again.Close()
	serve(t, u, root, isEmpty)

	third := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: run, Epoch: 13})
	third.Step(8, 3)
	third.Close()
	said := serve(t, u, root, func(said string) bool { return strings.Contains(said, "cannot serve") })
	if !strings.Contains(said, "has ended") || !strings.Contains(said, "another name, or resume it") {
		t.Errorf("a rank that ended is started again, and the agent says %s", said)
	}
	serve(t, u, root, isEmpty, "--resume")

	u.Settle(t)
	want := "[[0 6 0] [1 6 0] [2 6 0] [3 6 0] [4 6 0] [5 6 1] [6 6 1] [7 6 1] [8 6 2]]"
	got := u.Query(t, `SELECT t.step, count(), any(s.generation) FROM tap.tensors AS t INNER JOIN tap_store.step AS s ON s.epoch = t.epoch AND s.step = t.step AND s.run_id = t.run_id
		WHERE t.run = '`+run+`' GROUP BY t.step ORDER BY t.step`)
	if fmt.Sprint(got) != want {
		t.Errorf("step, tensors, generation: %v, want %s", got, want)
	}
	out := program.Run(t, u.Setting, "report", "completeness", "--run", run)
	if out.Status != 0 || strings.Contains(out.Stdout, "INCOMPLETE") {
		t.Errorf("completeness: %v", out)
	}
}
