package delivery

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/pipelines"
)

const (
	filesOfSites = "archive/event=site/run=*/*.parquet"
	filesOfSteps = "archive/event=step/run=*/*.parquet"
)

// healed runs verify --heal, and expects that status and those words.
func healed(t *testing.T, u *program.Up, status int, words ...string) {
	t.Helper()
	out := program.Run(t, u.Setting, "verify", "--heal")
	t.Log(out.Stdout)
	if out.Status != status {
		t.Errorf("verify --heal: %v, want status %d", out, status)
	}
	for _, text := range words {
		if !strings.Contains(out.Stdout, text) {
			t.Errorf("verify --heal: %v, want %q", out, text)
		}
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestHealMendsEachStoreFromTheOthers(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms")
	twoRuns(t, u)
	want := sums(t, u)
	healed(t, u, program.ExitSame, "nothing is lost, nothing is damaged")

	for _, table := range []string{"tensor", "step", "site", "run"} {
		program.Execute(t, u, "TRUNCATE TABLE tap_store."+table)
	}
	if out := program.Run(t, u.Setting, "verify"); out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, "missing in the tables: run bad: batches of run 1, site ") {
		t.Errorf("verify: %v", out)
	}
	healed(t, u, program.ExitSame, "healed: the tables have again, from the archive: run bad: batches of run 1, site ")
	requireSums(t, u, want)

	program.Execute(t, u, "TRUNCATE TABLE tap_store.tensor")
	flipBit(t, firstFile(t, u.Data, filesOfTensors))
	remove(t, firstFile(t, u.Data, filesOfSites))
	healed(t, u, program.ExitSame, "was moved to its folder quarantine: event=tensor/", "a file of the archive was gone: event=site/",
		"healed: the tables have again, from the stream: ", "healed: the archive has again, from the stream: ")
	requireSums(t, u, want)

	stream, err := program.ConnectStream(t, u.Endpoint.NATS).Stream(t.Context(), pipelines.StreamName)
	if err == nil {
		err = stream.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	remove(t, firstFile(t, u.Data, filesOfTensors))
	healed(t, u, program.ExitSame, "a file of the archive was gone: event=tensor/", "healed: the archive has again, from the tables: run ", ": batches of tensor ")
	requireSums(t, u, want)
	requireArchive(t, u)

	flipBit(t, firstFile(t, u.Data, filesOfSteps))
	program.Execute(t, u, "TRUNCATE TABLE tap_store.step")
	healed(t, u, program.ExitDiffers, "not whole: the archive lost, and neither stream nor tables can make again, run ", ": batches of step ")
}

// requireArchive checks that the archive holds what the tables hold.
func requireArchive(t *testing.T, u *program.Up) {
	t.Helper()
	database, err := tallyDatabase(t.Context(), u.Endpoint.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	files, err := tallyFiles(t.Context(), u.Endpoint.Archive)
	if err != nil {
		t.Fatal(err)
	}
	requireTallies(t, database, map[string]*tally{"archive": files})
}

func TestHealNamesWhatTheStreamCannotGive(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	twoRuns(t, u)
	want := sums(t, u)
	mustStop(t, u)
	flipBit(t, firstFile(t, data, blocksOfStream))
	u = program.StartUp(t, data, "--archive-age", "100ms")
	healed(t, u, program.ExitDiffers, "not whole: the stream is damaged, tables and archive keep what they have of it: ")
	program.Execute(t, u, "TRUNCATE TABLE tap_store.tensor")
	healed(t, u, program.ExitDiffers, "healed: the tables have again, from the archive: ")
	requireSums(t, u, want)
	requireArchive(t, u)
}

func TestClaimsThatWereLostWithTheStreamAreMadeAgain(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data, "--archive-age", "100ms")
	sources := twoRuns(t, u)
	want := sums(t, u)
	again := func() {
		t.Helper()
		for _, s := range sources {
			if out := program.Run(t, u.Setting, "publish", "msprobe", s.dir, "--run", s.run); out.Status != 0 || !publishedNothing(out) {
				t.Errorf("publish %s again: %v", s.run, out)
			}
			other := program.Altered(t, s.dir, alteredPart(t, s.dir))
			if out := program.Run(t, u.Setting, "publish", "msprobe", other, "--run", s.run); out.Status != program.ExitError || !strings.Contains(out.Stderr, "holds other content") {
				t.Errorf("publish other content as %s: %v", s.run, out)
			}
		}
		u.Settle(t)
		requireSums(t, u, want)
	}
	forgetClaims(t, u)
	healed(t, u, program.ExitSame, "healed: the stream's server knows again, from the tables: which content was published as 6 steps of ranks")
	again()
	mustStop(t, u)
	if err := os.RemoveAll(filepath.Join(data, "nats")); err != nil {
		t.Fatal(err)
	}
	u = program.StartUp(t, data, "--archive-age", "100ms")
	if !strings.Contains(u.Stderr.String(), "the stream's server had lost") {
		t.Errorf("up says nothing of the claims: %s", u.Stderr)
	}
	again()
}

// alteredPart is a rank of a step of the dump.
func alteredPart(t *testing.T, dir string) string {
	t.Helper()
	part, err := filepath.Rel(dir, filepath.Dir(firstFile(t, dir, "step*/*/dump.json")))
	if err != nil {
		t.Fatal(err)
	}
	return part
}

func TestUpMendsInTheBackground(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms", "--check-every", "1s")
	twoRuns(t, u)
	want := sums(t, u)
	said := func(words string) {
		t.Helper()
		if err := program.Await(5*time.Minute, words, func() bool { return strings.Contains(u.Stderr.String(), words) }); err != nil {
			t.Errorf("%v: up says %s", err, u.Stderr)
		}
	}
	remove(t, firstFile(t, u.Data, filesOfSteps))
	said("the archive has again, from the stream: run ")
	for _, table := range []string{"tensor", "site"} {
		program.Execute(t, u, "TRUNCATE TABLE tap_store."+table)
	}
	said("the tables have again, from the archive: run bad: batches of ")
	flipBit(t, filepath.Join(largestParts("tensor")(t, u)[0], "data.bin"))
	said("a damaged part was moved to the folder detached of its table: part ")
	healed(t, u, program.ExitSame, "nothing is lost, nothing is damaged")
	requireSums(t, u, want)
	requireArchive(t, u)
}
