package folders

import (
	"sync"
	"sync/atomic"
)

// work has the unread dumps, a share of neighbours for each goroutine: dumps of one run have much in common, and a
// goroutine that reads several builds it once.
type work struct {
	lock   sync.Mutex
	shares [][]task
}

// task is to read one dump.
type task struct {
	run  *run
	dump int
}

// newWork shares the dumps of the runs out among so many goroutines at most, by bytes.
func newWork(runs []*run, goroutines int) *work {
	var tasks []task
	var all int64
	for _, r := range runs {
		for i, d := range r.found.Dumps {
			tasks = append(tasks, task{r, i})
			all += d.Bytes + 1
		}
	}
	w := &work{shares: make([][]task, min(goroutines, len(tasks)))}
	var before int64
	for _, t := range tasks {
		share := before * int64(len(w.shares)) / all
		w.shares[share] = append(w.shares[share], t)
		before += t.run.found.Dumps[t.dump].Bytes + 1
	}
	return w
}

// next is the goroutine's own next dump or, when it has none left, the last one of the goroutine
// with most.
func (w *work) next(goroutine int) (task, bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if own := w.shares[goroutine]; len(own) > 0 {
		w.shares[goroutine] = own[1:]
		return own[0], true
	}
	most := 0
	for i, share := range w.shares {
		if len(share) > len(w.shares[most]) {
			most = i
		}
	}
	share := w.shares[most]
	if len(share) == 0 {
		return task{}, false
	}
	w.shares[most] = share[:len(share)-1]
	return share[len(share)-1], true
}

// progress adds up the bytes read of all dumps.
type progress struct {
	tell func(done, all int64)
	done atomic.Int64
	all  int64
}

func newProgress(runs []*run, tell func(done, all int64)) *progress {
	p := &progress{tell: tell}
	for _, r := range runs {
		for _, d := range r.found.Dumps {
			p.all += d.Bytes
		}
	}
	return p
}

// of gets the bytes read of one dump.
func (p *progress) of() func(int64) {
	if p.tell == nil {
		return nil
	}
	var before int64
	return func(read int64) {
		p.tell(p.done.Add(read-before), p.all)
		before = read
	}
}
