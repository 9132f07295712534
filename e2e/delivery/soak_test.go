package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// killedSystem is a system under load in which processes are killed at random moments.
type killedSystem struct {
	data    string
	dumps   []string // to be published again and again, as new runs
	kills   int64    // of each victim
	seed    uint64
	env     []string
	self    string
	restart *rand.Rand

	mutex   sync.Mutex
	up      *program.Up
	said    []string // standard error of each up that has ended
	stored  []published
	running atomic.Bool // up is ready

	publishers, ups, engines, attempts atomic.Int64
}

// soakPublishers is how many publish at a time.
const soakPublishers = 3

// TestSoakStoresEveryEventOnceWhateverIsKilled kills publishers, the whole system and the engine, all at random
// moments and while events flow, TENSORTAP_SOAK_KILLS times each.
func TestSoakStoresEveryEventOnceWhateverIsKilled(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	s := newKilledSystem(t)
	t.Logf("%d kills each; TENSORTAP_SOAK_SEED=%d", s.kills, s.seed)
	if err := s.startUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	group, ctx := errgroup.WithContext(t.Context())
	for worker := range soakPublishers {
		group.Go(func() error { return s.publish(ctx, worker) })
	}
	group.Go(func() error { return s.destroy(ctx) })
	if err := group.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, s.up.Stderr)
	}
	took := time.Since(begin)
	requireComplete(t, s.awaited(t), len(s.stored))
	found := requireEqual(t, s.up, s.stored)
	s.said = append(s.said, s.up.Stderr.String())
	inserts, messages := s.doubts()
	t.Logf("kills: %d of publishers in %d attempts, %d of up, %d of the engine in %.0f s; checked in %.0f s",
		s.publishers.Load(), s.attempts.Load(), s.ups.Load(), s.engines.Load(), took.Seconds(), time.Since(begin).Seconds()-took.Seconds())
	t.Logf("%d runs, %d messages in the stream (%d of them twice), %d rows of measurements; %d inserts in doubt, of whose messages %d were stored",
		len(s.stored), found.stream.messages, found.stream.repeated, found.stream.rows(), inserts, messages)
	if found.stream.malformed > 0 {
		t.Errorf("%d messages of the stream are malformed", found.stream.malformed)
	}
}

func newKilledSystem(t *testing.T) *killedSystem {
	t.Helper()
	s := &killedSystem{data: t.TempDir(), kills: 4, seed: uint64(time.Now().UnixNano())}
	s.env = append(program.Setting{Data: s.data}.Environment(t), "GOTRACEBACK=all")
	for name, to := range map[string]func(uint64){
		"TENSORTAP_SOAK_KILLS": func(n uint64) { s.kills = int64(n) },
		"TENSORTAP_SOAK_SEED":  func(n uint64) { s.seed = n },
	} {
		text := os.Getenv(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		to(n)
	}
	s.restart = s.random(soakPublishers)
	s.self = program.Path(t)
	t.Cleanup(func() {
		if s.up != nil {
			_ = s.up.Kill()
		}
	})
	for _, name := range []string{"D_ddp_golden", "B14_nan_l2_mlp_step1_mix", "A_llama_L1_md5"} {
		s.dumps = append(s.dumps, recorded.Unpack(t, name))
	}
	for i := range 2 {
		s.dumps = append(s.dumps, enlarged(t, recorded.Unpack(t, "D_tp_golden"), 40+40*i))
	}
	return s
}

func (s *killedSystem) random(who int) *rand.Rand { return rand.New(rand.NewPCG(s.seed, uint64(who))) }

// upTo is a random time.
func upTo(random *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(most)))
}

func (s *killedSystem) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.self, args...)
	cmd.Env = s.env
	program.EndWithTests(cmd)
	return cmd
}

// enough says whether everything was killed often enough.
func (s *killedSystem) enough() bool {
	return s.ups.Load() >= s.kills && s.engines.Load() >= s.kills && s.publishers.Load() >= s.kills
}

// publish stores dumps as new runs until everything was killed often enough. Each is killed several times on its way.
func (s *killedSystem) publish(ctx context.Context, worker int) error {
	random := s.random(worker)
	for i := 0; ctx.Err() == nil && !s.enough(); i++ {
		dump := published{s.dumps[(i+worker)%len(s.dumps)], fmt.Sprintf("soak %d of publisher %d", i, worker)}
		s.mutex.Lock()
		s.stored = append(s.stored, dump)
		s.mutex.Unlock()
		kills := random.IntN(5)
		for {
			after := upTo(random, 600*time.Millisecond) + 1
			if kills <= 0 {
				after = 0
			}
			whole, err := s.attempt(ctx, dump, after)
			if err != nil {
				return fmt.Errorf("publish %s as %s: %w", dump.dir, dump.run, err)
			}
			if whole || ctx.Err() != nil {
				break
			}
			kills--
		}
	}
	return ctx.Err()
}

// attempt publishes a dump until done, or until it is killed after that time; never if that is 0.
func (s *killedSystem) attempt(ctx context.Context, dump published, after time.Duration) (whole bool, err error) {
	if !s.running.Load() {
		time.Sleep(5 * time.Millisecond)
	}
	s.attempts.Add(1)
	var said bytes.Buffer
	cmd := s.command(ctx, "publish", "msprobe", dump.dir, "--run", dump.run)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return false, err
	}
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	patience := time.AfterFunc(90*time.Second, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	defer patience.Stop()
	_ = cmd.Wait()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled() && after > 0:
		s.publishers.Add(1)
		return false, nil
	case status.ExitStatus() == 0:
		return true, nil
	case status.ExitStatus() == program.ExitError && program.SystemAway(said.String()), ctx.Err() != nil:
		return false, nil
	}
	return false, fmt.Errorf("%v: %s", cmd.ProcessState, &said)
}

// destroy kills the engine and the whole system until each was killed often enough, and leaves a running system.
func (s *killedSystem) destroy(ctx context.Context) error {
	random := s.random(soakPublishers + 1)
	for ctx.Err() == nil && !s.enough() {
		time.Sleep(upTo(random, 500*time.Millisecond))
		var err error
		switch engines, ups := s.engines.Load(), s.ups.Load(); {
		case engines < s.kills && (ups >= s.kills || random.IntN(2) == 0):
			err = s.killEngine()
		case ups < s.kills:
			err = s.killUp(ctx)
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// killEngine kills the engine alone, and waits until there is another.
func (s *killedSystem) killEngine() error {
	killed, err := killEngineOf(s.up)
	if killed {
		s.engines.Add(1)
	}
	return err
}

// killEngineOf says whether it killed one: none is there while it is just being restarted.
func killEngineOf(up *program.Up) (killed bool, err error) {
	before := program.ChildrenOf(up.Cmd.Process.Pid)
	if len(before) == 0 {
		return false, nil
	}
	if err := syscall.Kill(before[0], syscall.SIGKILL); err != nil {
		return false, fmt.Errorf("kill the engine: %w", err)
	}
	return true, program.Await(30*time.Second, "another engine after it was killed", func() bool {
		now := program.ChildrenOf(up.Cmd.Process.Pid)
		return len(now) > 0 && now[0] != before[0]
	})
}

// killUp kills the whole system and starts it again; sometimes it is killed once more while it starts.
func (s *killedSystem) killUp(ctx context.Context) error {
	for again := true; again; {
		children := program.ChildrenOf(s.up.Cmd.Process.Pid)
		s.running.Store(false)
		if err := s.up.Kill(); err != nil {
			return fmt.Errorf("kill up: %w", err)
		}
		s.ups.Add(1)
		s.said = append(s.said, s.up.Stderr.String())
		for _, pid := range children {
			gone := func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || program.Zombie(pid) }
			if err := program.Await(5*time.Second, fmt.Sprintf("the end of the killed system's engine, process %d", pid), gone); err != nil {
				return err
			}
		}
		if again = s.restart.IntN(4) == 0; again {
			s.up = program.NewUp(s.data, s.command(ctx, s.arguments()...))
			if err := s.up.Begin(); err != nil {
				return err
			}
			time.Sleep(upTo(s.restart, 500*time.Millisecond))
		}
	}
	return s.startUp(ctx)
}

func (*killedSystem) arguments() []string { return []string{"up", "--archive-age", "200ms"} }

func (s *killedSystem) startUp(ctx context.Context) error {
	s.up = program.NewUp(s.data, s.command(ctx, s.arguments()...))
	if err := s.up.Start(); err != nil {
		return err
	}
	s.running.Store(true)
	return nil
}

// awaited is the system once all is stored.
func (s *killedSystem) awaited(t *testing.T) *program.Up {
	t.Helper()
	awaitStored(t, program.ConnectStream(t, s.up.Endpoint.NATS), "clickhouse", "parquet")
	return s.up
}

// doubts sums up what the logs say of inserts that the engine did not answer.
func (s *killedSystem) doubts() (inserts, messages int) {
	for line := range strings.Lines(strings.Join(s.said, "\n")) {
		var said struct {
			Message        string
			Inserts        int
			MessagesStored int `json:"messages_stored"`
		}
		if json.Unmarshal([]byte(line), &said) == nil && strings.Contains(said.Message, "looked it up") {
			inserts += said.Inserts
			messages += said.MessagesStored
		}
	}
	return inserts, messages
}

// enlarged writes a dump of the recorded one's ops, so many times under new names.
func enlarged(tb testing.TB, recorded string, times int) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(recorded, "step0", "rank0", "dump.json"))
	if err != nil {
		tb.Fatal(err)
	}
	head, ops, found := bytes.Cut(text, []byte("\"data\": {\n"))
	if !found {
		tb.Fatalf("%s does not look as expected", recorded)
	}
	ops = bytes.TrimRight(ops, " \n}")
	var all bytes.Buffer
	all.Write(head)
	all.WriteString("\"data\": {\n")
	for copied := range times {
		if copied > 0 {
			all.WriteString("\n  },\n")
		}
		renamed := ops
		for _, phase := range []string{".forward", ".backward", ".parameters_grad"} {
			renamed = bytes.ReplaceAll(renamed, []byte(phase), fmt.Appendf(nil, "%05d%s", copied, phase))
		}
		all.Write(renamed)
	}
	all.WriteString("\n  }\n }\n}")
	dir := filepath.Join(tb.TempDir(), "dump")
	rank := filepath.Join(dir, "step0", "rank0")
	if err := os.MkdirAll(rank, 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(rank, "dump.json"), all.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	return dir
}
