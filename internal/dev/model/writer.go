package model

// doing says where the writer stands.
type doing uint32

const (
	idle doing = iota
	settling
	recalling
	inserting
	waiting
	doubting // as settling, after an error
	looking
	burying
	acknowledging
)

type writer struct {
	batch  set // places
	facts  set // of the batch
	fresh  set // of those, what is not stored
	memory set // facts that the writer knows to be stored
	doing  doing
	life   bool // the stream was made anew while the batch was held
	knows  bool // it has read what is stored
	doubt  bool // an insert may be running that nobody waits for
	answer bool // the answer to its insert is there
}

// phase is how far the server is with an insert.
type phase uint32

const (
	none phase = iota
	sent       // on its way, or not begun
	runs
)

type slot struct {
	phase phase
	facts set
}

func (d Delivery) write(s state, to func(string, state)) {
	w := &s.writer
	switch w.doing {
	case idle:
		if s.held != 0 {
			d.begin(s, to)
		}
	case settling, doubting:
		d.settle(s, to)
	case recalling:
		d.recall(s, to)
	case inserting:
		d.insert(s, to)
	case waiting:
		d.wait(s, to)
	case looking:
		d.look(s, to)
	case burying:
		s.dead |= w.facts & d.poison()
		w.doing = acknowledging
		if d.Without == LetterBeforeTerminate {
			*w = writer{memory: w.memory, knows: w.knows, doubt: w.doubt}
		}
		to("the writer puts a dead letter", s)
	case acknowledging:
		d.acknowledge(s, to)
	}
}

func (d Delivery) begin(s state, to func(string, state)) {
	w := &s.writer
	w.batch, w.facts, w.doing = s.held, d.factsAt(s, s.held), settling
	if !w.doubt {
		w.doing = recalling
	}
	if d.Without == WriteBeforeAcknowledge {
		s.acked |= w.batch
	}
	to("the writer takes what is held", s)
}

// settle ends the inserts that run. One that is on its way cannot be ended, only awaited.
func (d Delivery) settle(s state, to func(string, state)) {
	w := &s.writer
	further := recalling
	if w.doing == doubting {
		further = looking
	}
	if !w.doubt || d.Without == EndBeforeLook && w.doing == doubting {
		w.doing, w.doubt = further, false
		to("the writer goes on", s)
		return
	}
	left := false
	for i := range s.slots {
		if s.slots[i].phase == runs {
			s.slots[i] = slot{}
		}
		left = left || s.slots[i].phase == sent && s.ours(i)
	}
	if left && d.Without != AwaitAbandoned {
		return // until the server has begun it
	}
	w.doubt, w.doing = false, further
	to("the writer ends inserts", s)
}

// ours says whether the insert is of this process. Nobody awaits that of another.
func (s state) ours(i int) bool { return i == 0 }

func (d Delivery) recall(s state, to func(string, state)) {
	w := &s.writer
	if !w.knows && d.Without != ReadAtStart {
		w.memory = s.table
	}
	w.knows, w.fresh = true, 0
	taken := d.identities(w.memory)
	(w.facts &^ d.poison()).each(func(i uint8) {
		if id := uint8(d.identity(fact(i))); !taken.has(id) {
			taken |= one(id)
			w.fresh |= one(i)
		}
	})
	if w.fresh == 0 {
		w.doing = d.afterStore(s)
		to("the writer leaves out what is stored", s)
		return
	}
	d.insert(s, to)
}

// afterStore is burying where the batch has what cannot be stored.
func (d Delivery) afterStore(s state) doing {
	if s.writer.facts&d.poison() != 0 && d.Without != LetterBeforeTerminate {
		return burying
	}
	return acknowledging
}

func (d Delivery) insert(s state, to func(string, state)) {
	w := &s.writer
	if s.slots[0].phase != none {
		if s.slots[1].phase != none {
			return
		}
		s.slots[1] = s.slots[0]
	}
	s.slots[0] = slot{phase: sent, facts: w.fresh}
	w.doing, w.answer = waiting, false
	to("the writer sends an insert of what is not stored", s)
}

func (d Delivery) wait(s state, to func(string, state)) {
	if s.writer.answer {
		next := s
		w := &next.writer
		w.memory |= w.fresh
		w.answer = false
		w.doing = d.afterStore(next)
		to("the writer has the answer", next)
	}
	w := &s.writer
	if w.answer || s.slots[0].phase != none {
		if s.faults == 0 {
			return
		}
		s.faults--
	}
	w.doing, w.doubt, w.knows, w.memory, w.answer = doubting, true, false, 0, false
	if d.Without == ReadBack {
		w.doing, w.doubt, w.knows = inserting, false, true
	}
	to("the writer has no answer", s)
}

func (d Delivery) look(s state, to func(string, state)) {
	w := &s.writer
	w.fresh &^= s.table
	w.doing = settling // the same messages, once more
	if w.fresh == 0 || d.Without == StoreMissing {
		w.doing = d.afterStore(s)
	}
	to("the writer looks what is stored", s)
}

func (d Delivery) acknowledge(s state, to func(string, state)) {
	w := &s.writer
	batch := w.batch
	s.held &^= batch
	last := writer{memory: w.memory, knows: w.knows, doubt: w.doubt}
	if d.Without == LetterBeforeTerminate && w.facts&d.poison()&^s.dead != 0 {
		last = *w
		last.doing = burying
	}
	old := w.life
	s.writer = last
	if !old || d.Without == AcknowledgeOwnLife {
		s.acked |= batch & (one(s.synced) - 1)
	}
	to("the writer acknowledges", s)
}

func (d Delivery) factsAt(s state, places set) (all set) {
	places.each(func(i uint8) {
		if s.log[i] > 0 {
			all |= one(s.log[i] - 1)
		}
	})
	return all
}

// poison are the facts that can never be stored.
func (d Delivery) poison() set {
	if !d.Poison {
		return 0
	}
	return one(uint8(factOf(1, 0, 0)))
}

// serve is what the database does: it begins an insert, and stores all of it at once.
func (d Delivery) serve(s state, to func(string, state)) {
	for i, insert := range s.slots {
		next := s
		switch insert.phase {
		case none:
		case sent:
			next.slots[i].phase = runs
			to("the database begins an insert", next)
		case runs:
			next.slots[i] = slot{}
			if s.table&insert.facts != 0 {
				next.broken = ruleTwice
			}
			next.table |= insert.facts
			if d.Without == SyncTables {
				next.volatile |= insert.facts
			}
			next.writer.answer = i == 0 && s.writer.doing == waiting
			to("the database stores an insert", next)
		}
	}
}
