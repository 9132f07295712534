package collector

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/system"
)

// livingRun is a training of two ranks that goes on until it is killed.
type livingRun struct {
	*program.Up
	tb   testing.TB
	name string
	pids map[uint32]int // by rank
}

// startLiving returns once both ranks make steps.
func startLiving(tb testing.TB, u *program.Up, name string) *livingRun {
	tb.Helper()
	return startProgram(tb, u, name, torch.Training(tb, filepath.Join(u.Data, "spool"), "--ranks", "2", "--steps", "1000000", "--pause", "0.02", "--run", name))
}

// startProgram is startLiving of another program of two ranks.
func startProgram(tb testing.TB, u *program.Up, name string, cmd *exec.Cmd) *livingRun {
	tb.Helper()
	var said testbed.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = append(cmd.Environ(), "TENSORTAP_SIGNAL=USR1")
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	r := &livingRun{Up: u, tb: tb, name: name, pids: map[uint32]int{}}
	tb.Cleanup(func() { r.kill(cmd) })
	err := program.Await(2*time.Minute, "both ranks to be poked", func() bool {
		out := r.ask("poke", "--output", "json", "--timeout", "2s")
		var asked system.Asked
		if out.Status != 0 || json.Unmarshal([]byte(out.Stdout), &asked) != nil || len(asked.Answers) != 2 {
			return false
		}
		for _, answer := range asked.Answers {
			r.pids[answer.Rank] = int(answer.PID)
		}
		return true
	})
	if err != nil {
		tb.Fatalf("%v\n%s", err, &said)
	}
	return r
}

func (r *livingRun) kill(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
}

func (r *livingRun) ask(command string, args ...string) program.Outcome {
	r.tb.Helper()
	return program.Run(r.tb, r.Setting, append([]string{command, "--run", r.name}, args...)...)
}

// require asks, and fails the test unless status and output are as wanted.
func (r *livingRun) require(status int, wants []string, command string, args ...string) {
	r.tb.Helper()
	out := r.ask(command, args...)
	r.tb.Logf("tensortap %s %q\n%s%s", command, args, out.Stdout, out.Stderr)
	if out.Status != status {
		r.tb.Errorf("%s %q: status %d, want %d", command, args, out.Status, status)
	}
	for _, want := range wants {
		if !strings.Contains(out.Stdout+out.Stderr, want) {
			r.tb.Errorf("%s %q lacks %q", command, args, want)
		}
	}
}

// detailed is how many steps of each rank have APIs.
func (r *livingRun) detailed() string {
	r.tb.Helper()
	return fmt.Sprint(r.Query(r.tb, "SELECT rank, uniqExact(step) FROM tap.tensors WHERE run = '"+r.name+"' AND startsWith(op, 'Functional.') GROUP BY rank ORDER BY rank"))
}

func TestALiveRunDoesAsItIsAsked(t *testing.T) {
	t.Parallel()
	torch.Python(t)
	u := program.Shared(t)
	r := startLiving(t, u, "asked live")
	both := func(text string) []string { return []string{"rank 0, process " + fmt.Sprint(r.pids[0]) + " on ", text} }

	r.require(0, both("thread MainThread"), "poke")
	r.require(2, both("refuses: scope module.layres.2: no module has such a path; do you mean module.layers.2?"), "capture", "--scope", "module.layres.2")
	r.require(2, both("refuses: scope ·[2J$(touch x)`../..`: no module has such a path"), "capture", "--scope", "\x1b[2J$(touch x)`../..`")
	for _, served := range [][]string{{"--request", "chat-*"}, {"--prompt", "Why, then"}, {"--prompt-hash", "0000000000000007"}} { // which no training serves
		r.require(2, both("refuses: steps of this program serve no requests that are known: ask for its next steps"), "capture", served...)
	}
	r.require(0, both("records at level mix from step "), "capture", "--scope", "module.layers.2", "--payload")
	requireDetailed(t, r, "[[0 2] [1 2]]")
	r.require(0, both("records nothing from step "), "stop")
	requireNoSteps(t, r)
	r.require(0, both("records again from step "), "stop", "--resume")
	requireHangIsNamed(t, r)
	if err := syscall.Kill(r.pids[1], syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	requireDetailed(t, r, "[[0 2] [1 4]]")
	for _, pid := range r.pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	requireGone(t, r)
	requireDetailed(t, r, "[[0 2] [1 4]]") // and no more than 2 by capture, and 2 by rank 1's signal
	requirePayloads(t, r)
	requireCompared(t, r)
}

func TestWhatDoesNotLiveIsNotAsked(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	for _, command := range []string{"capture", "poke", "stop"} {
		out := program.Run(t, u.Setting, command, "--run", "never ran")
		if out.Status != 2 || !strings.Contains(out.Stderr, "ask run never ran to "+command+": no process of it lives: no run of that name was ever recorded live") {
			t.Errorf("%s: %v", command, out)
		}
	}
	for _, args := range [][]string{{"--level", "L9"}, {"--steps", "0"}, {"--payload", "--payload-bytes", "0"}, {"--scope", strings.Repeat("x", 2000)}, {"--prompt", " \n"}, {"--prompt-hash", "7"}} {
		if out := program.Run(t, u.Setting, append([]string{"capture", "--run", "never ran"}, args...)...); out.Status != 2 || strings.Contains(out.Stderr, "lives") {
			t.Errorf("capture %.50q: %v", args, out)
		}
	}
}

func steps(tb testing.TB, r *livingRun) string {
	tb.Helper()
	r.Settle(tb)
	return r.Query(tb, "SELECT max(step) FROM tap.steps WHERE run_id = xxh3('"+r.name+"' || char(31))")[0][0]
}

// requireNoSteps fails the test unless a run that was stopped stores no more steps.
func requireNoSteps(t *testing.T, r *livingRun) {
	t.Helper()
	time.Sleep(500 * time.Millisecond) // for the last step before
	before := steps(t, r)
	time.Sleep(500 * time.Millisecond)
	if after := steps(t, r); after != before {
		t.Errorf("stopped after step %s, and step %s is stored", before, after)
	}
}

// requireDetailed waits until so many steps of each rank have APIs, and is an error if more have.
func requireDetailed(t *testing.T, r *livingRun, want string) {
	t.Helper()
	got := ""
	err := program.Await(time.Minute, "detail of steps "+want, func() bool {
		r.Settle(t)
		got = r.detailed()
		return got == want
	})
	if err != nil {
		t.Errorf("%v: ranks and steps with APIs: %s", err, got)
	}
}

// requireHangIsNamed stops a rank, for which the other one waits, and asks who does what.
func requireHangIsNamed(t *testing.T, r *livingRun) {
	t.Helper()
	if err := syscall.Kill(r.pids[1], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	r.require(2, []string{"thread MainThread", "no Python stack", "did not answer in full"}, "poke", "--timeout", "2s")
	r.require(2, []string{fmt.Sprintf("rank 1, process %d", r.pids[1]), "did not come to a next step within 300ms"}, "capture", "--rank", "1", "--timeout", "300ms", "--level", "L0", "--steps", "1")
	if err := syscall.Kill(r.pids[1], syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

func requireGone(t *testing.T, r *livingRun) {
	t.Helper()
	err := program.Await(time.Minute, "the run to have died", func() bool {
		return strings.Contains(r.ask("poke", "--timeout", "1s").Stderr, "all of its 2 ranks have ended or died")
	})
	if err != nil {
		t.Error(err)
	}
}

// requireCompared has the command compare the first of the captured steps with the second, whose raw tensors lie where it looks by itself.
func requireCompared(t *testing.T, r *livingRun) {
	t.Helper()
	first := r.Query(t, "SELECT min(step) FROM tap.payloads WHERE run = '"+r.name+"'")[0][0]
	op := r.Query(t, "SELECT min(op) FROM tap.payloads WHERE run = '"+r.name+"' AND role = 'output'")[0][0]
	if out := program.Run(t, r.Setting, "tensor", "diff", "--problem", r.name, "--bench", r.name, "--op", op); out.Status != 0 || !strings.Contains(out.Stdout, "same: all ") {
		t.Errorf("tensor diff of a captured tensor and itself: %v", out)
	}
	out := program.Run(t, r.Setting, "compare", r.name, r.name, "--payload", "--steps", first, "--step-offset", "1", "--output", "json", "--limit", "1000")
	if out.Status != 1 || !strings.Contains(out.Stdout, `"evidence":"payload"`) && !strings.Contains(out.Stdout, `"evidence": "payload"`) {
		t.Errorf("compare --payload: status %d, %.2000s%s", out.Status, out.Stdout, out.Stderr)
	}
}

// requirePayloads compares the raw tensors of both captured steps, with each other and each with itself.
func requirePayloads(t *testing.T, r *livingRun) {
	t.Helper()
	client := r.Client(t)
	defer client.Close()
	folder := filepath.Join(r.Data, "payloads")
	for offset, same := range []bool{true, false} {
		result, err := client.ComparePayloads(t.Context(), system.PayloadRequest{
			Problem: r.name, Bench: r.name, Folders: [2]string{folder, folder}, Rank: -1, StepOffset: int64(offset),
		})
		if err != nil || result.Pairs < 20 || result.Unreadable != 0 || result.Unlike != 0 {
			t.Errorf("ComparePayloads with offset %d = %+v, %v", offset, result, err)
		}
		equal := r.Query(t, "SELECT countIf(same_bits = 1), count() FROM tap.payload_errors WHERE problem_run_id = xxh3('"+r.name+"' || char(31))")[0]
		if same != (equal[0] == equal[1]) {
			t.Errorf("with offset %d %s of %s pairs have the same bits", offset, equal[0], equal[1])
		}
	}
	kept := r.Query(t, "SELECT uniqExact(rank, step), uniqExact(rank), countIf(op LIKE '%layers.2%' OR op NOT LIKE 'Module.%') = count() FROM tap.payloads WHERE run = '"+r.name+"'")
	if got := strings.Join(kept[0], " "); got != "4 2 1" && got != "4 2 true" {
		t.Errorf("steps and ranks of raw tensors, all of the scope: %s", got)
	}
}

func TestAWatchCapturesWhatDivergesFirst(t *testing.T) {
	t.Parallel()
	torch.Python(t)
	u := program.Shared(t)
	root := filepath.Join(u.Data, "spool")
	torch.Train(t, root, "--ranks", "2", "--steps", "30", "--run", "watched good")
	bad := torch.Training(t, root, "--ranks", "2", "--steps", "1000000", "--pause", "0.1", "--run", "watched bad", "--fault", "weight", "--fault-step", "8", "--fault-rank", "1")
	if err := bad.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-bad.Process.Pid, syscall.SIGKILL)
		_ = bad.Wait()
	})
	out := program.Run(t, u.Setting, "watch", "--problem", "watched bad", "--bench", "watched good", "--until-diverged", "--capture", "--idle", "5m")
	if out.Status != 1 || !strings.Contains(out.Stdout, "module.layers.2.mix") {
		t.Fatalf("watch: %v", out)
	}
	for _, want := range []string{"capture: run watched bad, rank 1, process ", "records at level mix from step ", "raw tensors below " + u.Data, "ask run watched good to capture: no process of it lives"} {
		if !strings.Contains(out.Stderr, want) {
			t.Errorf("watch lacks %q: %s", want, out.Stderr)
		}
	}
}
