package soak

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	driver "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/pipelines"
)

// Files in the folder of data.
const (
	filesOfTensors = "archive/event=tensor/run=*/*.parquet"
	blocksOfStream = "nats/jetstream/*/streams/TAP/msgs/*.blk"
)

// alive damages a store while the system runs, at a moment when nobody works, and has it healed.
func (s *soak) alive(what string, damage func() error) error {
	s.load.calm.Lock()
	defer s.load.calm.Unlock()
	if err := errors.Join(s.stored(), damage()); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	out := program.Run(s.t, s.parts.setting, "verify")
	if out.Status != program.ExitDiffers && out.Status != 0 { // up may have been first to mend it
		return fmt.Errorf("verify after this: %s: %v", what, out)
	}
	s.note("%s: verify says: %s", what, s.findings(out.Stdout))
	return s.whole("verify", "--heal")
}

// whole heals by a command, after which nothing is lost.
func (s *soak) whole(heal ...string) error {
	if out := program.Run(s.t, s.parts.setting, heal...); out.Status != 0 {
		return fmt.Errorf("%q: %v", heal, out)
	}
	if out := program.Run(s.t, s.parts.setting, "verify"); out.Status != 0 {
		return fmt.Errorf("verify after %q: %v", heal, out)
	}
	s.note("healed by %s", strings.Join(heal, " "))
	return nil
}

// findings are the lines of verify that name a fault.
func (s *soak) findings(said string) string {
	said = strings.ReplaceAll(said, s.data+"/", "")
	var found []string
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "the ") || strings.HasPrefix(line, "missing ") || strings.HasPrefix(line, "only ") {
			found = append(found, strings.TrimSpace(line[:min(len(line), 120)]))
		}
	}
	if found == nil {
		return "nothing; " + strings.Join(strings.Fields(said), " ")
	}
	return strings.Join(found, "; ")
}

// stored waits until tables and archive hold what the stream holds.
func (s *soak) stored() error {
	conn, err := nats.Connect(s.parts.up.Endpoint.NATS)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), 15*time.Minute)
	defer cancel()
	return pipelines.WaitStored(ctx, js, 0, 50*time.Millisecond, "clickhouse", "parquet")
}

func (s *soak) anyFile(pattern string) (string, error) {
	files, err := filepath.Glob(filepath.Join(s.data, pattern))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("%s: %w", pattern, errors.Join(err, os.ErrNotExist))
	}
	return files[s.random.IntN(len(files))], nil
}

// damageArchive deletes a file and flips a bit of another.
func (s *soak) damageArchive(<-chan struct{}) error {
	return s.alive("archive: a file deleted, a bit flipped in another", func() error {
		file, err := s.anyFile(filesOfTensors)
		if err == nil {
			err = os.Remove(file)
		}
		other, globErr := s.anyFile(filesOfTensors)
		if err = errors.Join(err, globErr); err != nil {
			return err
		}
		return flipBit(other)
	})
}

// damageTables deletes the rows of some runs.
func (s *soak) damageTables(<-chan struct{}) error {
	return s.alive("tables: the tensors of a third of the runs deleted", func() error {
		options, err := driver.ParseDSN(s.parts.up.Endpoint.ClickHouse)
		if err != nil {
			return err
		}
		conn, err := driver.Open(options)
		if err != nil {
			return err
		}
		err = conn.Exec(s.t.Context(), "ALTER TABLE tap_store.tensor DELETE WHERE run_id % 3 = 0 SETTINGS mutations_sync = 2")
		return errors.Join(err, conn.Close())
	})
}

// damageStream flips a bit while the system is stopped, between live runs; then the stream is made again. Where the server
// cuts the damage off as it starts, and tables and archive have what it cut, verify does not name it.
func (s *soak) damageStream(<-chan struct{}) error {
	s.load.runs.Lock()
	defer s.load.runs.Unlock()
	for _, root := range []string{s.load.roots[0], s.far} {
		if err := program.Await(5*time.Minute, "agents to publish all below "+root, func() bool { return program.Published(root) }); err != nil {
			return err
		}
	}
	s.load.calm.Lock()
	defer s.load.calm.Unlock()
	if err := s.stored(); err != nil {
		return err
	}
	if err := program.Await(30*time.Minute, "the stream to hold all batches that tables and archive hold", s.storesAgree); err != nil {
		return err
	}
	block, err := s.anyFile(blocksOfStream)
	if err = errors.Join(err, s.parts.up.Stop()); err != nil {
		return err
	}
	if err := flipBit(block); err != nil {
		return err
	}
	out := program.Run(s.t, s.parts.setting, "verify")
	s.note("stream: a bit flipped in a block: verify says: %s", s.findings(out.Stdout))
	if err := os.RemoveAll(filepath.Join(s.data, "nats")); err != nil {
		return err
	}
	return errors.Join(s.whole("restore"), s.parts.startUp())
}

// storesAgree says whether verify counts as many batches in each store: the judge may be at work, and the stream is counted first.
func (s *soak) storesAgree() bool {
	said := program.Run(s.t, s.parts.setting, "verify").Stdout
	s.note("before a bit flips, verify says: %s", strings.Join(strings.Fields(said), " "))
	counts := regexp.MustCompile(`(?m)^(?:stream|tables|archive)\s+(\d+) batches`).FindAllStringSubmatch(said, -1)
	return len(counts) == 3 && counts[0][1] == counts[1][1] && counts[1][1] == counts[2][1]
}

// flipBit changes a bit in the midst of a file.
func flipBit(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text[len(text)/2] ^= 1
	return os.WriteFile(path, text, 0o600)
}

// away takes the database away for a while: its library is gone, so it cannot start again. Kills of others go on.
func (s *soak) away(over <-chan struct{}) error {
	library, err := os.Readlink(s.engine)
	if err != nil {
		return err
	}
	if err := errors.Join(os.Remove(s.engine), s.parts.killEngineFor(true)); err != nil {
		return err
	}
	s.note("the database goes away")
	for end := time.Now().Add(s.outage); time.Now().Before(end) && !closed(over); {
		if err := s.parts.killOne(over, s.random); err != nil {
			return err
		}
		pause(over, max(s.outage/20, time.Second))
	}
	written := s.load.account.liveTensors()
	if err := os.Symlink(library, s.engine); err != nil {
		return err
	}
	s.parts.noEngine = false
	began := time.Now()
	err = s.stored()
	s.note("the database is back after %v; caught up in %.1f s, %d live tensors written by then", s.outage, time.Since(began).Seconds(), written)
	return err
}

// killEngineFor kills the engine for good.
func (p *parts) killEngineFor(good bool) error {
	p.noEngine = good
	pid := p.running()["engine"]
	if pid == 0 {
		return errors.New("the engine has no process")
	}
	p.killed("engine")
	return syscall.Kill(pid, syscall.SIGKILL)
}

// fillSpool fills the disk of the spools to the last byte while the agent is away. The agent must store all and give room back.
func (s *soak) fillSpool(over <-chan struct{}) error {
	if !s.far2 {
		return nil
	}
	if err := s.parts.agent.Kill(); err != nil {
		return err
	}
	s.parts.killed("agent")
	pause(over, 5*time.Second)
	s.load.calm.Lock()
	defer s.load.calm.Unlock()
	ballast := filepath.Join(s.far, "ballast")
	if err := fill(ballast); err != nil {
		return err
	}
	s.note("the disk of the spools is full")
	began := time.Now()
	if err := s.parts.startAgent(); err != nil {
		return err
	}
	want := fmt.Sprint(s.load.account.liveTensors())
	err := program.Await(5*time.Minute, "what was spooled, on a full disk", func() bool {
		out := program.Run(s.t, s.parts.setting, "query", "SELECT count() FROM tap_store.tensor AS t INNER JOIN tap.runs AS r ON r.run_id = t.run_id WHERE r.name LIKE 'live %'", "--output", "csv")
		return program.LastLine(out.Stdout) == want
	})
	s.note("all is stored of the full disk in %.1f s", time.Since(began).Seconds())
	return errors.Join(err, os.Remove(ballast))
}

// fill takes all the room of a disk.
func fill(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	for _, size := range []int{1 << 20, 1 << 12, 1} {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return errors.Join(err, io.ErrUnexpectedEOF)
		}
	}
	return file.Close()
}
