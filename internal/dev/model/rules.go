package model

// Rules that a step breaks, rather than a state.
const (
	ruleGeneration = iota + 1
	ruleRefused
	ruleTwice
)

func (d Delivery) broken(s state) string {
	switch s.broken {
	case ruleGeneration:
		return "the generation of a step rises with each other content, and never falls"
	case ruleRefused:
		return "content takes the place of other content only where it was asked to"
	case ruleTwice:
		return "nothing is stored twice"
	}
	switch {
	case s.table.has(0) && s.table.has(uint8(retold)):
		return "nothing is stored twice"
	case s.finished&^s.durable() != 0:
		return "a claim is done when the stream has all of it"
	case s.acks&^s.durable() != 0:
		return "the stream acknowledges what it keeps"
	case d.factsAt(s, s.acked)&^d.stored(s) != 0:
		return "the writer acknowledges what is stored"
	case d.factsAt(s, s.ackedByArchive)&^s.archive != 0:
		return "the archive acknowledges what is stored"
	case d.quiet(s):
		return d.brokenAtEnd(s)
	}
	return ""
}

// durable are the facts that the stream keeps, or lost when it was lost as a whole.
func (s state) durable() set {
	all := s.lost
	for _, f := range s.log[:s.synced] {
		all |= one(f - 1)
	}
	return all
}

// stored are the facts that the database keeps, with those that have a dead letter.
func (d Delivery) stored(s state) set { return s.table | s.dead }

// brokenAtEnd is for the end of all work.
func (d Delivery) brokenAtEnd(s state) string {
	want := s.finished &^ s.lost
	switch {
	case want&^(s.table|s.dead) != 0:
		return "nothing is lost"
	case d.Archive && want&^s.archive != 0:
		return "nothing is lost in the archive"
	}
	for step, c := range s.claims {
		if f := uint8(factOf(uint8(step), c.content, c.generation)); c.done && !(s.table | s.dead | s.lost).has(f) { //nolint:gosec // two
			return "the highest generation shows what was published last"
		}
	}
	return ""
}

// quiet says whether nothing is left to do.
func (d Delivery) quiet(s state) bool {
	for i, p := range s.publishers {
		if int(p.job) < len(d.Jobs[i]) || s.flight[i] != 0 {
			return false
		}
	}
	all := one(s.synced) - 1
	return s.logged == s.synced && s.acked|s.gone&^s.held == all && s.held&^s.acked == 0 && s.writer.doing == idle &&
		(!d.Archive || s.ackedByArchive == all || d.Without == ConsumerOfEach)
}

func (d Delivery) ended(s state) bool { return d.quiet(s) && d.brokenAtEnd(s) == "" }
