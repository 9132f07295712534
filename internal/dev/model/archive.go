package model

// The guards of the archive.
const (
	SyncFile         Guard = "a file is synced before it has its name"
	SyncFolder       Guard = "the folder is synced before the line is written"
	TemporaryName    Guard = "a file has its name when it is whole"
	StoreFirst       Guard = "a message is acknowledged when its file is stored"
	ReadManifest     Guard = "a new writer knows the batches of the files"
	AdoptUnlisted    Guard = "a file without a line is adopted, not removed"
	ReadUnlisted     Guard = "a file without a line is read before it is adopted"
	AdoptOnce        Guard = "a file whose batches others have is set aside"
	ListedFirst      Guard = "files without a line come after those with one"
	CheckListed      Guard = "each file is checked at the start"
	CountQuarantined Guard = "the batches of a damaged file are missing until they are written again"
)

// ArchiveGuards are all of them.
func ArchiveGuards() []Guard {
	return []Guard{
		SyncFile, SyncFolder, TemporaryName, StoreFirst, ReadManifest, AdoptUnlisted, ReadUnlisted, AdoptOnce, ListedFirst,
		CheckListed, CountQuarantined,
	}
}

// Archive is the way of two messages into files, each at its own time or both in one file: temporary file, sync, name,
// sync of the folder, line of the manifest, acknowledgement. Its process may be killed, and the machine lose power, at
// any step, those of the next start among them. While it is stopped the manifest may be lost, a file damaged, or a copy
// of a file put beside it.
type Archive struct {
	Faults  uint8
	Without Guard
}

// place is where a file is.
type place uint8

const (
	nowhere place = iota
	temporary
	named
	aside // in quarantine
)

type file struct {
	place   place
	listed  bool // in the manifest
	batches uint8
	whole   bool // all of it is written
	synced  bool // all of it is on the disk
	kept    bool // its name is on the disk
	spoilt  bool
	harmed  bool // by a fault, not by us
}

type stage uint8

const (
	stopped stage = iota
	checking
	adopting
	ready
	drafting
	written
	onDisk
	renamed
	placed
	listed
)

type archived struct {
	files   [6]file
	stage   stage
	at      uint8 // the file that is being checked or written
	memory  uint8 // batches that the process knows to be stored
	acked   uint8
	missing uint8 // batches of damaged files, to be fetched again
	faults  uint8
}

// Search is the search of it.
func (a Archive) Search() Search[archived] {
	return Search[archived]{First: archived{faults: a.Faults}, Next: a.next, Broken: a.broken, Ended: a.ended}
}

func (a Archive) next(s archived, to func(string, archived)) {
	a.work(s, to)
	if s.faults == 0 {
		return
	}
	s.faults--
	if s.stage != stopped {
		killed := s
		killed.stage, killed.memory, killed.at = stopped, 0, 0
		to("the writer is killed", killed)
		a.losePower(killed, 0, to)
		return
	}
	a.damage(s, to)
}

func (a Archive) work(s archived, to func(string, archived)) {
	switch s.stage {
	case stopped:
		a.start(s, to)
	case checking, adopting:
		a.recover(s, to)
	case ready:
		for batches := uint8(1); batches <= 3; batches++ {
			a.deliver(s, batches, to)
		}
	case drafting, written, onDisk, renamed, placed, listed:
		a.step(s, to)
	}
}

func (a Archive) start(s archived, to func(string, archived)) {
	for i := range s.files {
		if s.files[i].place == temporary {
			s.files[i] = file{}
		}
	}
	s.stage, s.at = checking, 0
	if a.Without == ListedFirst {
		s.stage = adopting
	}
	to("a writer starts", s)
}

// recover looks at one file: first at each that has a line, then at each that has none.
func (a Archive) recover(s archived, to func(string, archived)) {
	if int(s.at) == len(s.files) {
		first, second := checking, adopting
		if a.Without == ListedFirst {
			first, second = second, first
		}
		if s.stage == first {
			s.stage, s.at = second, 0
		} else {
			s.stage, s.at = ready, 0
		}
		to("a writer has looked at all files", s)
		return
	}
	f := &s.files[s.at]
	switch {
	case f.place != named:
	case s.stage == checking && f.listed:
		a.check(&s, f)
	case s.stage == adopting && !f.listed:
		a.adopt(&s, f)
	}
	s.at++
	to("a writer looks at a file", s)
}

func (a Archive) check(s *archived, f *file) {
	if f.spoilt && a.Without != CheckListed {
		a.quarantine(s, f)
		return
	}
	if a.Without != ReadManifest {
		s.memory |= f.batches
	}
}

func (a Archive) quarantine(s *archived, f *file) {
	if a.Without != CountQuarantined {
		s.missing |= f.batches &^ s.memory
		s.acked &^= f.batches &^ s.memory // they are fetched again
	}
	f.place, f.listed = aside, false
}

func (a Archive) adopt(s *archived, f *file) {
	switch {
	case a.Without == AdoptUnlisted:
		*f = file{}
	case f.spoilt && a.Without != ReadUnlisted:
		a.quarantine(s, f)
	case f.batches&s.memory != 0 && a.Without != AdoptOnce:
		f.place = aside
	default:
		f.listed, f.synced, f.kept = true, true, true
		s.memory |= f.batches
	}
}

func (a Archive) deliver(s archived, batches uint8, to func(string, archived)) {
	if batches&s.acked != 0 {
		return
	}
	fresh := batches &^ s.memory
	if fresh == 0 || a.Without == StoreFirst {
		known := s
		known.acked |= batches
		to("the writer acknowledges what it knows", known)
	}
	for i, f := range s.files {
		if fresh == 0 || f.place != nowhere {
			continue
		}
		s.at, s.stage = uint8(i), drafting //nolint:gosec // six
		s.files[i] = file{place: temporary, batches: fresh}
		if a.Without == TemporaryName {
			s.files[i].place = named
		}
		to("the writer begins a file", s)
		return
	}
}

// step is the next step of the file under way.
func (a Archive) step(s archived, to func(string, archived)) {
	f := &s.files[s.at]
	switch s.stage {
	case drafting:
		f.whole = true
	case written:
		f.synced = a.Without != SyncFile
	case onDisk:
		f.place = named
	case renamed:
		f.kept = a.Without != SyncFolder
	case placed:
		f.listed = true
		s.memory |= f.batches
		s.missing &^= f.batches
	case listed:
		s.acked |= f.batches
		s.stage, s.at = ready, 0
		to("the writer acknowledges", s)
		return
	case stopped, checking, adopting, ready:
	}
	s.stage++
	to([]string{"the file is whole", "the file is synced", "the file has its name", "the folder is synced", "the file has its line"}[s.stage-written], s)
}

func (a Archive) broken(s archived) string {
	readable, all, twice := uint8(0), uint8(0), uint8(0)
	for _, f := range s.files {
		if f.place != named {
			continue
		}
		if !f.whole {
			return "readers find whole files"
		}
		if f.harmed || !f.spoilt {
			readable |= f.batches
		}
		twice |= all & f.batches
		all |= f.batches
		if f.spoilt && s.stage == ready {
			return "no damaged file is among the rest once a writer has started"
		}
	}
	switch {
	case s.acked&^(readable|s.missing) != 0:
		return "nothing is lost that was acknowledged"
	case twice != 0 && s.stage >= ready:
		return "readers find each batch once"
	}
	return ""
}

func (a Archive) ended(s archived) bool {
	return s.stage == ready && s.acked == 3 && s.missing&^s.memory == 0
}
