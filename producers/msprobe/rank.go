package msprobe

import (
	"cmp"
	"path/filepath"
	"slices"
)

// step is the folder of one step.
type step struct {
	number uint32
	dir    string
	ranks  []rank
}

// rank is the folder of one rank in a step.
type rank struct {
	name    string
	dir     string
	number  uint32
	process bool // number is a process id until the ranks are numbered
	guessed bool
}

// rankFolder reads rank<R>, rank (of a run that was not distributed), proc<PID> and pid<PID>.
func rankFolder(name string) (rank, bool) {
	if name == "rank" {
		return rank{name: name}, true
	}
	if n, ok := numbered(name, "rank"); ok {
		return rank{name: name, number: n}, true
	}
	for _, prefix := range []string{"proc", "pid"} {
		if n, ok := numbered(name, prefix); ok {
			return rank{name: name, number: n, process: true}, true
		}
	}
	return rank{}, false
}

// readStep lists the ranks among the names of the folders in dir. A folder with the files themselves is rank 0, unless
// its own name says otherwise.
func readStep(dir string, number uint32, names []string) step {
	s := step{number: number, dir: dir}
	for _, name := range names {
		if r, ok := rankFolder(name); ok {
			r.dir = filepath.Join(dir, name)
			s.ranks = append(s.ranks, r)
		}
	}
	if len(s.ranks) == 0 && holdsFile(dir) {
		r, _ := rankFolder(filepath.Base(dir))
		r.dir = dir
		s.ranks = append(s.ranks, r)
	}
	return s
}

// numberRanks gives ranks to processes: 0 to the only one of a step, and otherwise, as a guess, the numbers that no
// rank folder has, in the order of process ids over all steps.
func numberRanks(steps []step) {
	taken := make(map[uint32]bool)
	var processes []uint32
	alone := true
	for _, s := range steps {
		alone = alone && len(s.ranks) == 1
		for _, r := range s.ranks {
			if r.process {
				processes = append(processes, r.number)
			} else {
				taken[r.number] = true
			}
		}
	}
	slices.Sort(processes)
	processes = slices.Compact(processes)
	numbers := make(map[uint32]uint32)
	next := uint32(0)
	for _, pid := range processes {
		for !alone && taken[next] {
			next++
		}
		numbers[pid] = next
		if !alone {
			next++
		}
	}
	for _, s := range steps {
		for i := range s.ranks {
			if r := &s.ranks[i]; r.process {
				r.number, r.guessed = numbers[r.number], !alone
			}
		}
	}
}

func compareDumps(a, b Dump) int {
	return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Dir, b.Dir))
}
