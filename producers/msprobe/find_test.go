package msprobe

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tree makes the files, each an empty dump, in a folder of its own.
func tree(tb testing.TB, files ...string) string {
	tb.Helper()
	dir := tb.TempDir()
	for _, f := range files {
		write(tb, dir, filepath.FromSlash(f), `{"data": {}}`)
	}
	return dir
}

// list is the dumps as step/rank=folder, with ? behind a guessed rank.
func list(found Found) []string {
	var all []string
	for _, d := range found.Dumps {
		dir, _ := filepath.Rel(found.Root, d.Dir)
		guess := ""
		if d.Guessed {
			guess = "?"
		}
		all = append(all, fmt.Sprintf("%d/%d%s=%s", d.Step, d.Rank, guess, filepath.ToSlash(dir)))
	}
	return all
}

func TestFindNumbersStepsAndRanksOfEveryLayout(t *testing.T) {
	t.Parallel()
	distributed := []string{"step0/rank0/dump.json", "step0/rank1/dump.json", "step10/rank0/dump.json", "step2/rank0/dump.json"}
	processes := []string{"step0/proc30/dump.json", "step0/proc4/dump.json", "step1/proc30/dump.json", "step1/proc4/dump.json", "step2/proc30/dump.json"}
	for name, c := range map[string]struct {
		files    []string
		path     string
		want     []string
		problems int
	}{
		"ranks":                    {distributed, ".", []string{"0/0=step0/rank0", "0/1=step0/rank1", "2/0=step2/rank0", "10/0=step10/rank0"}, 0},
		"a step":                   {distributed, "step0", []string{"0/0=step0/rank0", "0/1=step0/rank1"}, 0},
		"a rank":                   {distributed, "step0/rank1", []string{"0/1=step0/rank1"}, 0},
		"a dump.json":              {distributed, "step10/rank0/dump.json", []string{"10/0=step10/rank0"}, 0},
		"two levels up":            {[]string{"case/dump/step1/rank/dump.json"}, ".", []string{"1/0=step1/rank"}, 0},
		"rank without number":      {[]string{"step5/rank/dump.json"}, ".", []string{"5/0=step5/rank"}, 0},
		"one process":              {[]string{"step0/proc77/dump.json", "step1/proc77/dump.json"}, ".", []string{"0/0=step0/proc77", "1/0=step1/proc77"}, 0},
		"one process, run again":   {[]string{"step0/proc77/dump.json", "step1/proc78/dump.json"}, ".", []string{"0/0=step0/proc77", "1/0=step1/proc78"}, 0},
		"processes":                {processes, ".", []string{"0/0?=step0/proc4", "0/1?=step0/proc30", "1/0?=step1/proc4", "1/1?=step1/proc30", "2/1?=step2/proc30"}, 0},
		"one of several processes": {processes, "step2/proc30", []string{"2/1?=step2/proc30"}, 0},
		"pid of graph dumps":       {[]string{"step0/pid9/dump.json"}, "step0/pid9", []string{"0/0=step0/pid9"}, 0},
		"ranks and a process":      {[]string{"step0/rank0/dump.json", "step0/rank2/dump.json", "step0/proc9/dump.json"}, ".", []string{"0/0=step0/rank0", "0/1?=step0/proc9", "0/2=step0/rank2"}, 0},
		"a lone dump.json":         {[]string{"dump.json"}, "dump.json", []string{"0/0=."}, 0},
		"a lone folder":            {[]string{"x/dump.json"}, "x", []string{"0/0=."}, 0},
		"a rank without a step":    {[]string{"rank3/dump.json"}, "rank3", []string{"0/3=rank3"}, 0},
		"ranks without a step":     {[]string{"rank3/dump.json", "rank4/dump.json"}, ".", []string{"0/3=rank3", "0/4=rank4"}, 0},
		"a step without ranks":     {[]string{"step4/dump.json"}, ".", []string{"4/0=step4"}, 0},
		"only debug.json":          {[]string{"step4/rank1/debug.json"}, ".", []string{"4/1=step4/rank1"}, 0},
		"broken parts":             {[]string{"step0/rank0/dump.json", "step1/rank0/stack.json", "step2/notes.txt"}, ".", []string{"0/0=step0/rank0"}, 2},
		"two of one rank":          {[]string{"step0/rank/dump.json", "step0/rank0/dump.json"}, ".", []string{"0/0=step0/rank"}, 1},
		"a step of eleven digits":  {[]string{"step0/rank0/dump.json", "step99999999999/rank0/dump.json"}, ".", []string{"0/0=step0/rank0"}, 1},
		"the greatest step":        {[]string{"step4294967295/rank0/dump.json", "step4294967296/rank0/dump.json"}, ".", []string{"4294967295/0=step4294967295/rank0"}, 1},
		"a rank above the greatest": {
			[]string{"step0/rank4294967295/dump.json", "step0/rank4294967296/dump.json", "step0/proc4294967296/dump.json"},
			".",
			[]string{"0/4294967295=step0/rank4294967295"},
			2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := Find(filepath.Join(tree(t, c.files...), filepath.FromSlash(c.path)))
			if err != nil {
				t.Fatal(err)
			}
			if got := list(found); !slices.Equal(got, c.want) || found.Problems.Count != c.problems {
				t.Errorf("found %q, %d problems %v; want %q, %d", got, found.Problems.Count, found.Problems.First, c.want, c.problems)
			}
			guessed := strings.Contains(strings.Join(c.want, ""), "?")
			if found.RanksGuessed != guessed {
				t.Errorf("ranks guessed %t, want %t", found.RanksGuessed, guessed)
			}
		})
	}
}

func TestFindSaysWhatItLookedForAndWhatWasThere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files []string
		path  string
		words []string
	}{
		"an empty folder":                 {nil, ".", []string{"step<N>/rank<R>/dump.json", "empty"}},
		"other things":                    {[]string{"a.txt", "b.txt"}, ".", []string{"2 other entries", "a.txt"}},
		"another file":                    {[]string{"a.txt"}, "a.txt", []string{"neither dump.json"}},
		"nothing":                         {nil, "gone", []string{"no such file"}},
		"an empty step":                   {[]string{"step0/x"}, ".", []string{"step0", "without a rank"}},
		"several dumps":                   {[]string{"a/step0/rank0/dump.json", "b/step0/rank0/dump.json"}, ".", []string{"2 dumps are below", "choose one"}},
		"a step above the greatest":       {[]string{"step4294967296/rank0/dump.json"}, ".", []string{"step4294967296", "4294967295"}},
		"a path to such a step":           {[]string{"step4294967296/rank0/dump.json"}, "step4294967296", []string{"step4294967296", "4294967295"}},
		"a path to a rank of it":          {[]string{"step4294967296/rank0/dump.json"}, "step4294967296/rank0", []string{"step4294967296", "4294967295"}},
		"a path to its dump.json":         {[]string{"step4294967296/dump.json"}, "step4294967296/dump.json", []string{"step4294967296", "4294967295"}},
		"such a step two levels below":    {[]string{"a/b/step4294967296/rank0/dump.json"}, ".", []string{"step4294967296", "4294967295"}},
		"a rank above the greatest":       {[]string{"step0/rank4294967296/dump.json"}, ".", []string{"rank4294967296", "4294967295"}},
		"a path to such a rank":           {[]string{"step0/rank4294967296/dump.json"}, "step0/rank4294967296", []string{"rank4294967296", "4294967295"}},
		"such a rank without a step":      {[]string{"rank4294967296/dump.json"}, ".", []string{"rank4294967296", "4294967295"}},
		"a process id above the greatest": {[]string{"step0/proc99999999999/dump.json"}, ".", []string{"proc99999999999", "4294967295"}},
		"a rank of no dump":               {[]string{"step0/rank0/stack.json"}, "step0/rank0", []string{"rank0", "neither dump.json"}},
	} {
		_, err := Find(filepath.Join(tree(t, c.files...), c.path))
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, word := range c.words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: error %q lacks %q", name, err, word)
			}
		}
	}
	if _, err := Find(t.TempDir()); !errors.Is(err, ErrNoDump) {
		t.Errorf("error %v is no ErrNoDump", err)
	}
}

func TestFindTakesARecordedDumpByAnyOfItsParts(t *testing.T) {
	t.Parallel()
	dir := unpack(t, "D_tp_rank1_nan")
	for path, want := range map[string]int{"": 4, "dump": 4, "dump/step1": 2, "dump/step1/rank1": 1, "dump/step0/rank0/dump.json": 1} {
		found, err := Find(filepath.Join(dir, "D_tp_rank1_nan", path))
		if err != nil || len(found.Dumps) != want {
			t.Errorf("Find(%s) = %d dumps, %v; want %d", path, len(found.Dumps), err, want)
		}
	}
}

func TestFindIgnoresAFolderThatItMayNotRead(t *testing.T) {
	t.Parallel()
	dir := tree(t, "step0/rank0/dump.json", "step1/rank0/dump.json")
	if err := os.Chmod(filepath.Join(dir, "step1"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "step1"), 0o700) })
	found, err := Find(dir)
	if err != nil || len(found.Dumps) == 0 {
		t.Errorf("Find = %v, %v; want the readable step", list(found), err)
	}
}

func TestATimeBeyondNanosecondsIsAProblem(t *testing.T) {
	t.Parallel()
	dir := tree(t, "step0/rank0/dump.json", "step1/rank0/dump.json")
	late := filepath.Join(dir, "step1/rank0/dump.json")
	at := time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
	times := []unix.Timespec{{Sec: at.Unix()}, {Sec: at.Unix()}} // os.Chtimes cannot say such a time either
	if err := unix.UtimesNanoAt(unix.AT_FDCWD, late, times, 0); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(late); err != nil || !info.ModTime().Equal(at) {
		t.Skipf("the file system keeps no such time: %v", err)
	}
	found, err := Find(dir)
	if err != nil || len(found.Dumps) != 2 || found.Dumps[1].ModTimeNs != math.MaxInt64 {
		t.Fatalf("Find = %+v, %v; want two dumps, the second at the last time that fits", found.Dumps, err)
	}
	if p := found.Problems; p.Count != 1 || p.First[0].File != late || !strings.Contains(p.First[0].What, "2300-01-01") {
		t.Errorf("problems %v, want one that names the file and its time", p.First)
	}
}
