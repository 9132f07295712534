package main

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
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/recorded"
)

// soak is a system under load in which processes are killed at random moments.
type soak struct {
	data    string
	dumps   []string // to be published again and again, as new runs
	kills   int64    // of each victim
	seed    uint64
	env     []string
	self    string
	life    *os.File // children end when its other end is closed
	restart *rand.Rand

	mutex   sync.Mutex
	up      *upProcess
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
	s := newSoak(t)
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
		t.Fatalf("%v\n%s", err, s.up.stderr)
	}
	took := time.Since(begin)
	requireComplete(t, s.awaited(t), len(s.stored))
	found := requireEqual(t, s.up, s.stored)
	s.said = append(s.said, s.up.stderr.String())
	inserts, messages := s.doubts()
	t.Logf("kills: %d of publishers in %d attempts, %d of up, %d of the engine in %.0f s; checked in %.0f s",
		s.publishers.Load(), s.attempts.Load(), s.ups.Load(), s.engines.Load(), took.Seconds(), time.Since(begin).Seconds()-took.Seconds())
	t.Logf("%d runs, %d messages in the stream (%d of them twice), %d rows of measurements; %d inserts in doubt, of whose messages %d were stored",
		len(s.stored), found.stream.messages, found.stream.repeated, found.stream.rows(), inserts, messages)
	if found.stream.malformed > 0 {
		t.Errorf("%d messages of the stream are malformed", found.stream.malformed)
	}
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{data: t.TempDir(), kills: 4, seed: uint64(time.Now().UnixNano())}
	s.env = append(setting{data: s.data}.environment(t), "GOTRACEBACK=all")
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
	var err error
	if s.self, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.life = read
	t.Cleanup(func() {
		_, _ = read.Close(), write.Close()
		if s.up != nil {
			_ = s.up.kill()
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

func (s *soak) random(who int) *rand.Rand { return rand.New(rand.NewPCG(s.seed, uint64(who))) }

// upTo is a random time.
func upTo(random *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(most)))
}

func (s *soak) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.self, args...)
	cmd.Env, cmd.ExtraFiles = s.env, []*os.File{s.life}
	return cmd
}

// enough says whether everything was killed often enough.
func (s *soak) enough() bool {
	return s.ups.Load() >= s.kills && s.engines.Load() >= s.kills && s.publishers.Load() >= s.kills
}

// publish stores dumps as new runs until everything was killed often enough. Each is killed several times on its way.
func (s *soak) publish(ctx context.Context, worker int) error {
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
func (s *soak) attempt(ctx context.Context, dump published, after time.Duration) (whole bool, err error) {
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
	case status.ExitStatus() == exitError && passing(said.String()), ctx.Err() != nil:
		return false, nil
	}
	return false, fmt.Errorf("%v: %s", cmd.ProcessState, &said)
}

// passing says whether a publisher ended because the system was just not there.
func passing(said string) bool {
	for _, reason := range []string{
		"no system is running", "is still starting", "connection refused", "no responders", "deadline exceeded", "timeout",
		"connection closed", "EOF", "no servers available", "jetstream not enabled", "connection reset",
	} {
		if strings.Contains(said, reason) {
			return true
		}
	}
	return false
}

// destroy kills the engine and the whole system until each was killed often enough, and leaves a running system.
func (s *soak) destroy(ctx context.Context) error {
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
func (s *soak) killEngine() error {
	before := childrenOf(s.up.cmd.Process.Pid)
	if len(before) == 0 {
		return nil // it is just being restarted
	}
	if err := syscall.Kill(before[0], syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill the engine: %w", err)
	}
	s.engines.Add(1)
	return await(30*time.Second, "another engine after it was killed", func() bool {
		now := childrenOf(s.up.cmd.Process.Pid)
		return len(now) > 0 && now[0] != before[0]
	})
}

// killUp kills the whole system and starts it again; sometimes it is killed once more while it starts.
func (s *soak) killUp(ctx context.Context) error {
	for again := true; again; {
		children := childrenOf(s.up.cmd.Process.Pid)
		s.running.Store(false)
		if err := s.up.kill(); err != nil {
			return fmt.Errorf("kill up: %w", err)
		}
		s.ups.Add(1)
		s.said = append(s.said, s.up.stderr.String())
		for _, pid := range children {
			gone := func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid) }
			if err := await(5*time.Second, fmt.Sprintf("the end of the killed system's engine, process %d", pid), gone); err != nil {
				return err
			}
		}
		if again = s.restart.IntN(4) == 0; again {
			s.up = newUpProcess(s.data, s.command(ctx, s.arguments()...))
			if err := s.up.begin(); err != nil {
				return err
			}
			time.Sleep(upTo(s.restart, 500*time.Millisecond))
		}
	}
	return s.startUp(ctx)
}

func (*soak) arguments() []string { return []string{"up", "--archive-age", "200ms"} }

func (s *soak) startUp(ctx context.Context) error {
	s.up = newUpProcess(s.data, s.command(ctx, s.arguments()...))
	if err := s.up.start(); err != nil {
		return err
	}
	s.running.Store(true)
	return nil
}

// awaited is the system once all is stored.
func (s *soak) awaited(t *testing.T) *upProcess {
	t.Helper()
	awaitStored(t, connectStream(t, s.up.endpoint.NATS), "clickhouse", "parquet")
	return s.up
}

// doubts sums up what the logs say of inserts that the engine did not answer.
func (s *soak) doubts() (inserts, messages int) {
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

// await polls until holds.
func await(patience time.Duration, what string, holds func() bool) error {
	for deadline := time.Now().Add(patience); !holds(); {
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %v for %s", patience, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return nil
}

// childrenOf lists the processes that the process has started and that run, least number first.
func childrenOf(parent int) []int {
	var children []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		if state, of := statOf(path); of == parent && state != "Z" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			children = append(children, pid)
		}
	}
	slices.Sort(children)
	return children
}

func zombie(pid int) bool {
	state, _ := statOf(fmt.Sprintf("/proc/%d/stat", pid))
	return state == "Z"
}

// statOf reads the state and the parent of a process.
func statOf(path string) (state string, parent int) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", 0
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
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
