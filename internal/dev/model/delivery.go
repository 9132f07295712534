package model

// Guard is a part of the protocol of delivery that keeps a rule.
type Guard string

// The guards. A Delivery without one of them breaks a rule.
const (
	Nothing Guard = ""

	// Of publishers and claims.
	ClaimByRevision      Guard = "a claim replaces the claim that was read, and no other"
	FinishByRevision     Guard = "a claim is finished unless it was replaced meanwhile"
	GenerationRaised     Guard = "other content raises the generation"
	RefuseOtherContent   Guard = "other content is refused unless it is to replace"
	StepInIdentity       Guard = "the step is part of the identity"
	GenerationInIdentity Guard = "the generation is part of the identity"
	EpochOfContent       Guard = "publishing again gives the same identities"
	AwaitAcknowledgement Guard = "a publisher waits for the stream's acknowledgement"
	SendAgain            Guard = "a message without acknowledgement is sent again"

	// Of the stream.
	SyncBeforeAcknowledge Guard = "the stream acknowledges what is on the disk"
	DeliverForEver        Guard = "the stream delivers until it is acknowledged"
	ConsumerOfEach        Guard = "each store has a consumer of its own"

	// Of the writer.
	WriteBeforeAcknowledge Guard = "a message is acknowledged when it is stored"
	AcknowledgeOwnLife     Guard = "an acknowledgement goes to the life of the stream that delivered"
	ReadAtStart            Guard = "a new writer reads what is stored"
	ReadBack               Guard = "after an error the writer reads what became of the insert"
	StoreMissing           Guard = "what the insert did not store is stored again"
	EndBeforeLook          Guard = "an insert in doubt is ended before the look"
	AwaitAbandoned         Guard = "an insert that has not begun is waited for"
	EndAtStart             Guard = "a new writer ends the inserts of the last one"
	SyncTables             Guard = "the database answers when the rows are on the disk"
	LetterBeforeTerminate  Guard = "a message ends its delivery when its dead letter is on the disk"
)

// Guards are all guards.
func Guards() []Guard {
	return []Guard{
		ClaimByRevision, FinishByRevision, GenerationRaised, RefuseOtherContent, StepInIdentity, GenerationInIdentity,
		EpochOfContent, AwaitAcknowledgement, SendAgain, SyncBeforeAcknowledge, DeliverForEver, ConsumerOfEach,
		WriteBeforeAcknowledge, AcknowledgeOwnLife, ReadAtStart, ReadBack, StoreMissing, EndBeforeLook, AwaitAbandoned,
		EndAtStart, SyncTables, LetterBeforeTerminate,
	}
}

// Job is the publishing of one step of one rank.
type Job struct {
	Step, Content uint8
	Replace       bool
}

// Delivery is the way of messages from publishers through the stream into the database, and into an archive that
// is simply durable (Archive has its steps).
type Delivery struct {
	Jobs    [2][]Job // of each publisher, one after the other
	Faults  uint32   // of any sort, together
	NewLife bool     // the stream may be lost once, and is made anew
	Poison  bool     // step 1 can never be stored
	Archive bool     // there are two stores
	FarAway bool     // the database outlives the writer, and its requests may be on their way when that is killed
	Without Guard
}

// places is the room in the stream: for each fact, and for copies that faults make.
const places = 8

// state of all parts. What a process has in its memory goes when it is killed. Sets come first: a state without
// gaps between its fields is found faster.
type state struct {
	known set // facts that the window of duplicates has
	acks  set // facts that the stream acknowledged to their publishers

	acked, gone set // places
	held        set // places that the writer received

	table    set // facts
	volatile set // of those, not on the disk
	dead     set // dead letters

	ackedByArchive, archive set

	finished set // facts that their publisher called done
	lost     set // facts that went with a stream

	writer writer
	slots  [2]slot // inserts that the server has: of the writer that waits, and an older one

	claims     [2]claim // of each step
	publishers [2]publisher
	flight     [2]uint8 // the message on its way to the stream, of each publisher: its fact plus one

	log    [places]uint8 // facts, in the order of the stream, each plus one
	logged uint8
	synced uint8
	life   uint8
	broken uint8 // rule
	faults uint32
}

// Steps of the protocol, by who does them.
func (d Delivery) next(s state, to func(string, state)) {
	for i := range s.publishers {
		d.publish(s, uint8(i), to)
	}
	d.receive(s, to)
	d.deliver(s, to)
	d.write(s, to)
	d.serve(s, to)
	if d.Archive {
		d.archiving(s, to)
	}
	if s.faults > 0 {
		s.faults--
		d.fail(s, to)
	}
}

// Search is the search of it.
func (d Delivery) Search() Search[state] {
	return Search[state]{First: state{faults: d.Faults, writer: writer{doubt: d.Without != EndAtStart}}, Next: d.next, Broken: d.broken, Ended: d.ended}
}

// archiving is the second store: a step to store, one to acknowledge.
func (d Delivery) archiving(s state, to func(string, state)) {
	for place := range s.synced {
		f := s.log[place] - 1
		switch acked := s.ackedByArchive; {
		case d.Without == ConsumerOfEach && s.acked.has(place), acked.has(place):
		case !s.archive.has(f):
			next := s
			next.archive |= one(f)
			to("the archive stores", next)
		default:
			next := s
			next.ackedByArchive |= one(place)
			if d.Without == ConsumerOfEach {
				next.acked |= one(place)
			}
			to("the archive acknowledges", next)
		}
	}
}
