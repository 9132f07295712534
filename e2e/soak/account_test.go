package soak

import (
	"fmt"
	"maps"
	"strings"
	"sync"
)

// bench is the live run that the others are held against.
const bench = "live bench"

// account is what the writers have written: what must be stored, no less and no more.
type account struct {
	mutex   sync.Mutex
	live    map[string]liveRun
	folders map[string]string // run, dump
	epochs  uint64
}

// liveRun is what all ranks of a run have written.
type liveRun struct {
	steps   int // of all ranks
	tensors int
	sum     float64 // of means; exact, since all are multiples of 1/64 and small
	faulty  bool
}

func newAccount() *account {
	return &account{live: map[string]liveRun{}, folders: map[string]string{}}
}

// epoch is one that no other start has.
func (a *account) epoch() uint64 {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.epochs++
	return a.epochs
}

// wrote enters a step of one rank: testbed.Spool.Step writes two tensors a module, whose means add up to twice the step.
func (a *account) wrote(run string, step uint32, fault float32) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	r := a.live[run]
	r.steps++
	r.tensors += 2 * modules
	r.sum += float64(2*modules*step) + float64(fault)
	r.faulty = fault != 0
	a.live[run] = r
}

func (a *account) published(run, dump string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.folders[run] = dump
}

// liveTensors is how many tensors live ranks have written.
func (a *account) liveTensors() int {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	n := 0
	for _, r := range a.live {
		n += r.tensors
	}
	return n
}

// judged is how many steps of ranks are held against the bench, and how many of them differ. A run that ended early has
// those judged, too, that only the bench has.
func (a *account) judged() (steps, differing int) {
	for run, r := range a.live {
		if run == bench {
			continue
		}
		steps += liveRanks * liveSteps
		if r.faulty {
			differing += r.steps
		}
	}
	return steps, differing
}

// String is for the line of progress.
func (a *account) String() string {
	tensors := a.liveTensors()
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return fmt.Sprintf("%d live runs, %d tensors of them, %d folders", len(a.live), tensors, len(a.folders))
}

// differences are in words what is stored other than written. Rows are run, tensors, distinct ones, sum of means.
func (a *account) differences(rows [][]string) []string {
	var found []string
	left := maps.Clone(a.live)
	for _, row := range rows {
		want, known := left[row[0]]
		delete(left, row[0])
		wanted := fmt.Sprint(want.tensors, " ", want.tensors, " ", want.steps, " ", want.sum)
		if got := strings.Join(row[1:], " "); !known || got != wanted {
			found = append(found, fmt.Sprintf("%s: tensors, distinct ones, steps, sum: %s are stored, %s written", row[0], got, wanted))
		}
	}
	for run := range left {
		found = append(found, run+": nothing is stored")
	}
	return found
}
