package model

// receive is what the stream does with messages: it writes one, syncs it, and then acknowledges it.
func (d Delivery) receive(s state, to func(string, state)) {
	if s.logged > s.synced {
		next := s
		next.synced = s.logged
		next.acks |= one(s.log[s.logged-1] - 1)
		to("the stream syncs", next)
		return
	}
	for i, m := range s.flight {
		if m == 0 {
			continue
		}
		next := s
		next.flight[i] = 0
		d.accept(next, m-1, to)
	}
}

func (d Delivery) accept(s state, f uint8, to func(string, state)) {
	if d.identities(s.known).has(uint8(d.identity(fact(f)))) {
		next := s
		next.acks |= one(f)
		to("the stream knows the message", next)
		if s.faults == 0 {
			return
		}
		s.faults-- // it came too late to be known
	}
	if int(s.logged) == len(s.log) {
		return
	}
	s.log[s.logged] = f + 1
	s.logged++
	s.known |= one(f)
	if d.Without == SyncBeforeAcknowledge {
		s.acks |= one(f)
	}
	to("the stream writes", s)
}

// deliver gives the writer what is not acknowledged, again and again.
func (d Delivery) deliver(s state, to func(string, state)) {
	if s.writer.doing != idle {
		return // what comes meanwhile waits as well in the stream
	}
	for place := range s.synced {
		if s.acked.has(place) || s.held.has(place) || s.gone.has(place) {
			continue
		}
		next := s
		next.held |= one(place)
		if d.Without == DeliverForEver {
			next.gone |= one(place)
		}
		to("the stream delivers", next)
	}
}
