package simulated

import (
	"sync"

	"github.com/tensortap/tensortap/internal/durable"
)

// Hand is what one life writes into files that others write, too, on a disk that has power throughout. Any write may be
// refused, or be the last.
type Hand struct {
	dice  *Dice
	crash func()

	mutex sync.Mutex
	gone  bool
}

// Hand makes the hand of a life. Crash is called when a write ends it.
func (f *Fate) Hand(name string, crash func()) *Hand {
	return &Hand{dice: f.Of("hand of " + name), crash: crash}
}

// Disk is what the life writes through.
func (h *Hand) Disk() durable.Disk { return durable.Disk{Before: h.before} }

// Kill cuts off the life: it writes nothing any more.
func (h *Hand) Kill() {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.gone = true
}

func (h *Hand) before(c durable.Change) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	switch {
	case h.gone:
		return errDead
	case h.dice.Strikes(25):
		h.gone = true
		h.crash()
		return h.tear(c, errDead)
	case h.dice.Strikes(50) && c.Kind == durable.Sync:
		return errDisk
	case h.dice.Strikes(50):
		return h.tear(c, errRoom)
	}
	return nil
}

// tear does a part of a write.
func (h *Hand) tear(c durable.Change, err error) error {
	if part := c.Data[:h.dice.Below(len(c.Data)+1)]; len(part) > 0 {
		if err := writeAt(c.Path, part, c.At); err != nil {
			return err
		}
	}
	return err
}
