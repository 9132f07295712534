package soak

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/schemas"
)

const (
	liveStored = `SELECT r.name, count(), uniqExact(t.rank, t.seq), uniqExact(t.rank, t.step), toString(sum(t.value_mean))
		FROM tap_store.tensor AS t INNER JOIN tap.runs AS r ON r.run_id = t.run_id WHERE r.name LIKE 'live %' GROUP BY r.name`
	foldersStored = `SELECT r.name, count(), sum(cityHash64(t.rank, t.step, t.micro_step, t.site_id, t.layout_id, t.value_min, t.value_max, t.value_mean, t.value_l2))
		FROM tap_store.tensor AS t INNER JOIN tap.runs AS r ON r.run_id = t.run_id WHERE r.name NOT LIKE 'live %' GROUP BY r.name`
	judgedStored = `SELECT count(), uniqExact(comparison_id, run_id, rank, step), countIf(differing_count > 0) FROM tap.judged_steps`
	incomplete   = `SELECT run, rank, explanation FROM tap.completeness WHERE NOT complete LIMIT 5`
	twice        = `SELECT kind, count() - uniqExact(id) FROM (
		SELECT 'step' AS kind, (run_id, rank, epoch, step) AS id FROM tap_store.step
		UNION ALL SELECT 'judged_step', (run_id, rank, epoch, batch) FROM tap_store.judged_step) GROUP BY kind`
)

// settle waits until all that was written is stored and judged.
func (s *soak) settle() {
	s.t.Helper()
	s.note("the load has ended; %s", s.progress())
	for _, root := range []string{s.load.roots[0], s.far} {
		if err := program.Await(10*time.Minute, "agents to publish all below "+root, func() bool { return program.Published(root) }); err != nil {
			s.t.Fatalf("%v\nup: %s\nagent: %s", err, lastLines(s.parts.up.Stderr), lastLines(s.parts.agent.Stderr))
		}
	}
	if err := s.stored(); err != nil {
		s.t.Fatal(err)
	}
	steps, differing := s.load.account.judged()
	s.awaitJudged(fmt.Sprint(steps, " ", steps, " ", differing))
}

// awaitJudged waits as long as something comes of it.
func (s *soak) awaitJudged(want string) {
	s.t.Helper()
	have, since := "", time.Now()
	for have != want {
		if now := strings.Join(s.parts.up.Query(s.t, judgedStored)[0], " "); now != have {
			have, since = now, time.Now()
		}
		if time.Since(since) > 3*time.Minute {
			s.t.Errorf("judged steps, distinct ones, those that differ: %s, want %s\n%s", have, want, lastLines(s.parts.judge.Stderr))
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
	s.note("judged steps, distinct ones, those that differ: %s, as written", have)
}

// check holds all stores against the account.
func (s *soak) check() {
	s.t.Helper()
	up := s.parts.up
	for _, difference := range s.load.account.differences(up.Query(s.t, liveStored)) {
		s.t.Error(difference)
	}
	s.checkFolders(up.Query(s.t, foldersStored))
	for _, row := range up.Query(s.t, incomplete) {
		s.t.Errorf("completeness: %v", row)
	}
	for _, row := range up.Query(s.t, twice) {
		if row[1] != "0" {
			s.t.Errorf("%s rows of %s are stored twice", row[1], row[0])
		}
	}
	tensors := program.Number(s.t, up.Query(s.t, "SELECT count() FROM tap_store.tensor")[0][0])
	s.stop()
	out := program.Run(s.t, s.parts.setting, "verify")
	if out.Status != 0 {
		s.t.Errorf("verify: %v", out)
	}
	s.note("verify: %s", strings.Join(strings.Fields(out.Stdout), " "))
	s.checkArchive(tensors)
}

// checkFolders holds what is stored of each published folder against the same folder published undisturbed.
func (s *soak) checkFolders(rows [][]string) {
	s.t.Helper()
	stored := map[string]string{}
	for _, row := range rows {
		stored[row[0]] = strings.Join(row[1:], " ")
	}
	for run, dump := range s.load.account.folders {
		if stored[run] != stored[dump] || stored[dump] == "" {
			s.t.Errorf("%s: rows and hash %q, undisturbed %q", run, stored[run], stored[dump])
		}
	}
	if want := len(s.load.account.folders) + len(s.load.dumps); len(stored) != want {
		s.t.Errorf("%d runs of folders are stored, want %d", len(stored), want)
	}
}

func (s *soak) stop() {
	s.t.Helper()
	for _, part := range []*program.Up{s.parts.agent, s.parts.judge, s.parts.up} {
		if err := part.Stop(); err != nil && !program.SystemAway(part.Stderr.String()) {
			s.t.Error(err)
		}
	}
}

// checkArchive reads every Parquet file: as many tensors as the tables hold, and no batch twice.
func (s *soak) checkArchive(want int) {
	s.t.Helper()
	got, seen := archived(s.t, s.parts.up.Endpoint.Archive)
	if got != want {
		s.t.Errorf("%d tensors are in the archive, %d in the tables", got, want)
	}
	s.note("%d tensors in the tables, %d in the archive in %d batches, none twice", want, got, seen)
}

func archived(t *testing.T, dir string) (tensors, batches int) {
	t.Helper()
	type key struct {
		kind string
		id   schemas.Identity
	}
	seen := map[key]bool{}
	for m, err := range parquet.Saved(t.Context(), dir) {
		if err != nil {
			t.Error(err)
			continue
		}
		table, _ := schemas.TableByKind(m.Header.Kind)
		id := key{m.Header.Kind, m.Header.Identity}
		if seen[id] && table.Class != schemas.Definition {
			t.Errorf("batch %v stands twice in the archive", id)
		}
		seen[id] = true
		if m.Header.Kind != "tensor" {
			continue
		}
		record, err := m.Record()
		if err != nil {
			t.Error(err)
			continue
		}
		tensors += int(record.NumRows())
	}
	return tensors, len(seen)
}
