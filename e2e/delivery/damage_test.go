package delivery

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/soak"
)

// damage is one way to spoil files. At its end all rows are there again, each once.
type damage struct {
	name    string
	stopped bool // the files are spoilt while no system runs
	files   func(t *testing.T, u *program.Up) []string
	spoil   func(t *testing.T, old string, files []string)
	start   string // what `up` says and mends by itself
	verify  string // what `verify` names; empty where nothing is damaged
	heal    string // what `verify --heal` says
	always  bool   // in make test, too, which tries a sample
}

func TestEveryDamageIsNamedAndMended(t *testing.T) {
	t.Parallel()
	data, old := t.TempDir(), filepath.Join(t.TempDir(), "old")
	u := program.StartUp(t, data, "--archive-age", "100ms")
	u.Publish(t, recorded.Unpack(t, "A_llama_mix_statistics"), "first")
	mustStop(t, u)
	if err := os.CopyFS(old, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	u = program.StartUp(t, data, "--archive-age", "100ms")
	twoRuns(t, u)
	want := sums(t, u)
	all := slices.Concat(damagedParts(), damagedArchive(), damagedStream())
	for _, d := range all {
		if !d.always && !soak.InFull() {
			continue
		}
		if !t.Run(strings.ReplaceAll(d.name, " ", "_"), func(t *testing.T) { u = d.run(t, u, old) }) {
			t.Fatal("the next cases would start from what this one left")
		}
		requireSums(t, u, want)
		requireArchive(t, u)
	}
}

// run spoils, and returns the system, which has mended itself.
func (d damage) run(t *testing.T, u *program.Up, old string) *program.Up {
	t.Helper()
	files := d.files(t, u)
	if d.stopped {
		mustStop(t, u)
	}
	d.spoil(t, old, files)
	if d.stopped {
		u = program.NewUp(u.Data, program.Command(t, u.Setting, "up", "--archive-age", "100ms"))
		if err := u.Start(); err != nil {
			t.Fatal(err)
		}
	}
	if err := program.Await(time.Minute, d.start, func() bool { return strings.Contains(u.Stderr.String(), d.start) }); err != nil {
		t.Errorf("%v: up says %s", err, u.Stderr)
	}
	if d.verify != "" {
		if out := program.Run(t, u.Setting, "verify"); out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, d.verify) {
			t.Errorf("verify: %v, want %q", out, d.verify)
		}
	}
	healed(t, u, program.ExitSame, d.heal, "nothing is lost, nothing is damaged")
	return u
}

// largestParts are the folders of the largest part of each table.
func largestParts(tables ...string) func(t *testing.T, u *program.Up) []string {
	return func(t *testing.T, u *program.Up) []string {
		t.Helper()
		var paths []string
		for _, table := range tables {
			rows := u.Query(t, "SELECT path FROM system.parts WHERE database = 'tap_store' AND active AND table = '"+table+"' ORDER BY rows DESC, name LIMIT 1")
			paths = append(paths, rows[0][0])
		}
		return paths
	}
}

func files(patterns ...string) func(t *testing.T, u *program.Up) []string {
	return func(t *testing.T, u *program.Up) []string {
		t.Helper()
		var paths []string
		for _, pattern := range patterns {
			paths = append(paths, firstFile(t, u.Data, pattern))
		}
		return paths
	}
}

// each does it to a file of that name in each of the folders, or to the files themselves.
func each(name string, do func(t *testing.T, path string)) func(*testing.T, string, []string) {
	return func(t *testing.T, _ string, paths []string) {
		t.Helper()
		for _, path := range paths {
			do(t, filepath.Join(path, name))
		}
	}
}

func cutInHalf(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err == nil {
		err = os.Truncate(path, info.Size()/2)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func removeAll(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// exchange puts each of two files or folders in the place of the other.
func exchange(t *testing.T, _ string, paths []string) {
	t.Helper()
	aside := filepath.Join(t.TempDir(), "aside")
	for _, move := range [][2]string{{paths[0], aside}, {paths[1], paths[0]}, {aside, paths[1]}} {
		if err := os.Rename(filepath.Clean(move[0]), filepath.Clean(move[1])); err != nil {
			t.Fatal(err)
		}
	}
}

// copyTo copies a folder to where nothing is.
func copyTo(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// putBack puts an old copy in the place of a folder.
func putBack(t *testing.T, old string, paths []string) {
	t.Helper()
	for _, path := range paths {
		_, inside, _ := strings.Cut(path, "/nats/")
		removeAll(t, path)
		copyTo(t, filepath.Join(old, "nats", inside), path)
	}
}

func damagedParts() []damage {
	const found, again = "the tables are damaged: part ", "healed: the tables have again, from the archive: run "
	const moved = "healed: a damaged part was moved to the folder detached of its table: part " // other parts may have all of its definitions
	copied := func(t *testing.T, _ string, paths []string) {
		t.Helper()
		folder, name := filepath.Split(filepath.Clean(paths[0]))
		partition, _, _ := strings.Cut(name, "_")
		copyTo(t, paths[0], filepath.Join(folder, partition+"_77777_77777_0"))
	}
	return []damage{
		{name: "table, bit flipped", files: largestParts("tensor", "site"), spoil: each("data.bin", flipBit), verify: found, heal: again, always: true},
		{name: "table, bit flipped while stopped", stopped: true, files: largestParts("step"), spoil: each("data.bin", flipBit), verify: found, heal: again},
		{name: "table, projection, bit flipped", files: largestParts("tensor"), spoil: each("ledger.proj/data.bin", flipBit), verify: found, heal: again},
		{
			name: "table, projection, bit flipped while stopped", stopped: true, files: largestParts("tensor"), spoil: each("ledger.proj/data.bin", flipBit),
			start: "a damaged part was moved to the folder detached of its table: part ",
		},
		{name: "table, cut short", files: largestParts("op"), spoil: each("data.bin", cutInHalf), verify: found, heal: moved},
		{
			name: "table, cut short while stopped", stopped: true, files: largestParts("tensor", "run"), spoil: each("data.bin", cutInHalf),
			start: "the tables have again, from the archive: run ", always: true,
		},
		{
			name: "table, checksums, bit flipped while stopped", stopped: true, files: largestParts("layout"), spoil: each("checksums.txt", flipBit),
			start: "the engine could not load it",
		},
		{name: "table, file deleted", files: largestParts("step"), spoil: each("data.bin", remove), verify: found, heal: again},
		{
			name: "table, file deleted while stopped", stopped: true, files: largestParts("stack"), spoil: each("columns.txt", remove),
			start: "the engine could not load it",
		},
		{
			name: "table, part deleted while stopped", stopped: true, files: largestParts("rank"), spoil: each("", removeAll),
			verify: "missing in the tables: run ", heal: again,
		},
		{
			name: "table, parts of two tables swapped", stopped: true, files: largestParts("op", "site"), spoil: exchange,
			verify: "it has columns of another table", heal: moved, always: true,
		},
		{
			name: "table, a copy of a part", stopped: true, files: largestParts("tensor"), spoil: copied,
			start: "the tables had other rows of batches than were stored", always: true,
		},
		{
			name: "table, a copy of a part that was merged with it", verify: "other rows than were stored in the tables: run ", heal: again, always: true,
			spoil: each("", remove), files: func(t *testing.T, u *program.Up) []string {
				t.Helper()
				program.Execute(t, u, "INSERT INTO tap_store.step SELECT * FROM tap_store.step ORDER BY run_id, rank LIMIT 1")
				program.Execute(t, u, "OPTIMIZE TABLE tap_store.step FINAL")
				return nil
			},
		},
	}
}

func damagedArchive() []damage {
	const found, again = "the archive is damaged: read ", "healed: the archive has again, from the stream: run "
	const lost = "the archive is damaged, events that it lost are fetched"
	return []damage{
		{name: "archive, bit flipped", files: files(filesOfSteps), spoil: each("", flipBit), verify: found, heal: again},
		{name: "archive, bit flipped while stopped", stopped: true, files: files(filesOfSites), spoil: each("", flipBit), verify: found, heal: again},
		{name: "archive, cut short", files: files(filesOfSteps), spoil: each("", cutInHalf), verify: found, heal: again},
		{name: "archive, cut short while stopped", stopped: true, files: files(filesOfSteps), spoil: each("", cutInHalf), start: lost},
		{name: "archive, deleted", files: files(filesOfSteps), spoil: each("", remove), verify: found, heal: again},
		{name: "archive, deleted while stopped", stopped: true, files: files(filesOfSteps), spoil: each("", remove), start: lost},
		{name: "archive, swapped", files: files(filesOfSteps, filesOfTensors), spoil: exchange, verify: found, heal: again, always: true},
		{name: "archive, swapped while stopped", stopped: true, files: files(filesOfSteps, filesOfSites), spoil: exchange, start: lost},
		{name: "archive, swapped between runs", files: filesOfTwoRuns, spoil: exchange, verify: found, heal: again},
		{name: "archive, swapped between runs while stopped", stopped: true, files: filesOfTwoRuns, spoil: exchange, start: lost},
		{name: "manifest, bit flipped while stopped", stopped: true, files: files("archive/manifest"), spoil: each("", flipBit), start: `"damaged_lines":1`},
		{name: "manifest, cut short while stopped", stopped: true, files: files("archive/manifest"), spoil: each("", cutInHalf), start: "the manifest of the archive lacked files"},
		{name: "manifest, deleted while stopped", stopped: true, files: files("archive/manifest"), spoil: each("", remove), start: "the manifest of the archive lacked files"},
		{
			name: "manifest, old copy while stopped", stopped: true, files: files("archive/manifest"), start: "the manifest of the archive lacked files", always: true,
			spoil: func(t *testing.T, old string, paths []string) {
				t.Helper()
				exchange(t, "", []string{paths[0], filepath.Join(old, "archive/manifest")})
			},
		},
		{name: "manifest, lines swapped and doubled while stopped", stopped: true, files: files("archive/manifest"), spoil: each("", shuffleLines)},
		{name: "manifest, lines swapped and doubled", files: files("archive/manifest"), spoil: each("", shuffleLines)},
	}
}

// filesOfTwoRuns are files of the same kind.
func filesOfTwoRuns(t *testing.T, u *program.Up) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(u.Data, filesOfTensors))
	if err != nil {
		t.Fatal(err)
	}
	other := slices.IndexFunc(found, func(f string) bool { return filepath.Dir(f) != filepath.Dir(found[0]) })
	return []string{found[0], found[other]}
}

// shuffleLines doubles the first and the last line of a file, and exchanges the second and the third.
func shuffleLines(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(text)))
	lines[1], lines[2] = lines[2], lines[1]
	lines = append([]string{lines[0]}, append(lines, lines[len(lines)-1])...)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

func damagedStream() []damage {
	return []damage{
		{
			name: "stream, state of the consumers, old copy while stopped", stopped: true, spoil: putBack, always: true,
			files: files("nats/jetstream/*/streams/TAP/obs/clickhouse", "nats/jetstream/*/streams/TAP/obs/parquet"),
		},
		{
			name: "stream, claims, old copy while stopped", stopped: true, spoil: putBack, always: true,
			files: files("nats/jetstream/*/streams/KV_tap_sources"), heal: "healed: the stream's server knows again, from the tables: which content",
		},
	}
}
