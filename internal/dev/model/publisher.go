package model

// claim is what the bucket has of a step.
type claim struct {
	revision   uint8 // 0: there is none
	content    uint8
	generation uint8
	done       bool
}

// at says where a publisher stands.
type at uint8

const (
	atRead at = iota
	atClaim
	atSend
	atWait
	atFinish
)

type publisher struct {
	at     at
	job    uint8
	starts uint8
	mine   claim // as it was read, or made
}

func (d Delivery) publish(s state, i uint8, to func(string, state)) {
	p := &s.publishers[i]
	if int(p.job) == len(d.Jobs[i]) {
		return
	}
	job := d.Jobs[i][p.job]
	switch p.at {
	case atRead:
		d.readClaim(s, i, job, to)
	case atClaim:
		d.makeClaim(s, i, job, to)
	case atSend:
		d.send(s, i, job, to)
	case atWait:
		d.await(s, i, job, to)
	case atFinish:
		d.finish(s, i, job, to)
	}
}

func (d Delivery) readClaim(s state, i uint8, job Job, to func(string, state)) {
	p, have := &s.publishers[i], s.claims[job.Step]
	p.mine = have
	switch {
	case have.revision == 0:
		p.at, p.mine = atClaim, claim{content: job.Content}
	case have.content == job.Content && have.done:
		p.job, p.mine = p.job+1, claim{} // published before
	case have.content == job.Content:
		p.at = atSend
	case !job.Replace && d.Without != RefuseOtherContent:
		p.job, p.mine = p.job+1, claim{} // refused
	default:
		p.at = atClaim
		p.mine.content, p.mine.done = job.Content, false
		if d.Without != GenerationRaised {
			p.mine.generation = min(have.generation+1, generations-1)
		}
	}
	to("a publisher reads the claim", s)
}

func (d Delivery) makeClaim(s state, i uint8, job Job, to func(string, state)) {
	p, have := &s.publishers[i], &s.claims[job.Step]
	if have.revision != p.mine.revision && d.Without != ClaimByRevision {
		p.at, p.mine = atRead, claim{}
		to("another publisher was faster", s)
		return
	}
	before := *have
	p.mine.revision = have.revision + 1
	*have = p.mine
	s.broken = claimed(s.broken, before, *have, job)
	p.at = atSend
	to("a publisher claims", s)
	if s.faults > 0 {
		s.faults--
		p.at, p.mine = atRead, claim{}
		to("a publisher claims, the answer is lost", s)
	}
}

// claimed notes a claim that took the place of another in a way that none may.
func claimed(broken uint8, before, after claim, job Job) uint8 {
	switch {
	case before.revision == 0:
		return broken
	case after.generation < before.generation, after.content != before.content && after.generation == before.generation:
		return ruleGeneration
	case after.content != before.content && !job.Replace:
		return ruleRefused
	}
	return broken
}

// told is the fact that the publisher sends.
func (d Delivery) told(p publisher, job Job) fact {
	f := factOf(job.Step, job.Content, p.mine.generation)
	if d.Without == EpochOfContent && f == 0 && p.starts > 0 {
		return retold
	}
	return f
}

func (d Delivery) send(s state, i uint8, job Job, to func(string, state)) {
	p := &s.publishers[i]
	if s.flight[i] != 0 {
		return // as much as this model has on its way
	}
	s.flight[i] = uint8(d.told(*p, job)) + 1
	p.at = atWait
	if d.Without == AwaitAcknowledgement {
		p.at = atFinish
	}
	to("a publisher sends", s)
}

func (d Delivery) await(s state, i uint8, job Job, to func(string, state)) {
	p := &s.publishers[i]
	if s.acks.has(uint8(d.told(*p, job))) {
		next := s
		next.publishers[i].at = atFinish
		to("a publisher has the acknowledgement", next)
	}
	if d.Without != SendAgain {
		p.at = atSend
		to("a publisher waited for long", s)
	}
}

func (d Delivery) finish(s state, i uint8, job Job, to func(string, state)) {
	p, have := &s.publishers[i], &s.claims[job.Step]
	f := factOf(job.Step, job.Content, p.mine.generation)
	if have.revision == p.mine.revision || d.Without == FinishByRevision {
		before := *have
		*have = p.mine
		have.revision, have.done = before.revision+1, true
		s.broken = claimed(s.broken, before, *have, Job{Replace: true})
		s.finished |= one(uint8(f))
	}
	p.at, p.job, p.mine = atRead, p.job+1, claim{}
	to("a publisher finishes", s)
}
