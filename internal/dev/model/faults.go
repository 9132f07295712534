package model

// fail is every fault that may come now.
func (d Delivery) fail(s state, to func(string, state)) {
	for i := range s.publishers {
		d.killPublisher(s, i, to)
	}
	d.killStream(s, to)
	d.killWriter(s, to)
	d.killDatabase(s, to)
	d.loseMessages(s, to)
	if s.acked != 0 && s.writer.doing == idle {
		next := s
		next.acked = 0
		to("the stream forgets acknowledgements", next)
	}
	if d.NewLife && s.life == 0 && s.logged > 0 && s.logged == s.synced {
		d.loseStream(s, to)
	}
}

func (d Delivery) killPublisher(s state, i int, to func(string, state)) {
	p := &s.publishers[i]
	if p.at == atRead {
		return
	}
	*p = publisher{job: p.job, starts: 1}
	if d.Without != EpochOfContent {
		p.starts = 0
	}
	to("a publisher is killed", s)
}

func (d Delivery) killStream(s state, to func(string, state)) {
	if s.logged == s.synced {
		return
	}
	for ; s.logged > s.synced; s.logged-- {
		f := s.log[s.logged-1] - 1
		s.log[s.logged-1] = 0
		s.known &^= one(f)
	}
	to("the stream loses power", s)
}

// killWriter also breaks its connections. The embedded engine ends with it; one far away goes on.
func (d Delivery) killWriter(s state, to func(string, state)) {
	if s.held == 0 && !s.writer.knows {
		return
	}
	s.writer = writer{doubt: d.Without != EndAtStart}
	s.held = 0
	for i := range s.slots {
		if s.slots[i].phase == sent && !d.FarAway {
			s.slots[i] = slot{}
		}
	}
	if s.slots[0].phase != none && s.slots[1].phase == none {
		s.slots[0], s.slots[1] = slot{}, s.slots[0]
	}
	to("the writer is killed", s)
}

func (d Delivery) killDatabase(s state, to func(string, state)) {
	if s.slots == [2]slot{} && s.volatile == 0 {
		return
	}
	s.slots = [2]slot{}
	s.table &^= s.volatile
	s.volatile = 0
	to("the database loses power", s)
}

func (d Delivery) loseMessages(s state, to func(string, state)) {
	for i, m := range s.flight {
		if m == 0 {
			continue
		}
		next := s
		next.flight[i] = 0
		to("a message is lost", next)
		if s.logged > s.synced {
			continue // the stream does one thing at a time
		}
		d.accept(s, m-1, func(_ string, next state) { to("a message comes twice", next) })
	}
	if s.writer.doing == acknowledging {
		next := s
		next.held &^= s.writer.batch
		next.writer = writer{memory: s.writer.memory, knows: s.writer.knows, doubt: s.writer.doubt}
		to("acknowledgements of the writer are lost", next)
	}
}

// loseStream puts an empty stream in the place of the stream. Its numbers begin again.
func (d Delivery) loseStream(s state, to func(string, state)) {
	for _, f := range s.log[:s.logged] {
		s.lost |= one(f - 1)
	}
	s.log, s.logged, s.synced, s.known, s.acks, s.life = [places]uint8{}, 0, 0, 0, 0, 1
	s.acked, s.gone, s.held, s.ackedByArchive = 0, 0, 0, 0
	s.writer.life = s.writer.batch != 0
	to("the stream is lost, and made anew", s)
}
