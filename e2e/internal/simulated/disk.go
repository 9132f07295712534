package simulated

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tensortap/tensortap/internal/dev/forgetful"
	"github.com/tensortap/tensortap/internal/durable"
)

// Disk belongs to one part of the program. Each life of the part finds what the one before left: all of it, or what a loss
// of power left of what was not synced. Any operation may be refused, and the life may end at any.
type Disk struct {
	fate  *Fate
	dice  *Dice
	dir   string // on a real disk, in memory
	lives int
	now   *Mount

	mutex sync.Mutex
	model *forgetful.Model
}

// Mount is the disk as one life sees it.
type Mount struct {
	Dir string

	disk  *Disk
	crash func()
	gone  bool
}

var (
	errDead = errors.New("the process is dead")
	errDisk = fmt.Errorf("simulated: %w", syscall.EIO)
	errRoom = fmt.Errorf("simulated: %w", syscall.ENOSPC)
)

// NewDisk makes an empty one. What lies on it is kept below a folder that is there.
func NewDisk(fate *Fate, name, dir string) *Disk {
	return &Disk{fate: fate, dice: fate.Of("disk of " + name), dir: dir, model: forgetful.NewModel()}
}

// Mount lays the disk out for a new life, as a kill or a loss of power left it. The life before is cut off. Crash is called
// when an operation ends the life.
func (d *Disk) Mount(crash func()) (*Mount, error) {
	return d.MountAfter([...]forgetful.Loss{forgetful.Nothing, forgetful.Nothing, forgetful.Everything, forgetful.Some}[d.dice.Below(4)], crash)
}

// MountAfter is Mount after a loss that is known.
func (d *Disk) MountAfter(loss forgetful.Loss, crash func()) (*Mount, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.now != nil {
		d.now.gone = true
	}
	d.lives++
	d.now = &Mount{disk: d, Dir: filepath.Join(d.dir, fmt.Sprintf("life-%d", d.lives)), crash: crash}
	err := d.model.LayOut(d.now.Dir, loss, rand.New(rand.NewPCG(d.fate.Seed, uint64(d.lives)))) //nolint:gosec // few
	if err == nil && loss != forgetful.Nothing {
		d.model, err = forgetful.ModelOf(d.now.Dir)
	}
	return d.now, err
}

// Disk is what the life writes through.
func (m *Mount) Disk() durable.Disk { return durable.Disk{Before: m.before} }

// Kill cuts off the life: it changes nothing any more.
func (m *Mount) Kill() {
	m.disk.mutex.Lock()
	defer m.disk.mutex.Unlock()
	m.gone = true
}

// before decides what becomes of a change, and makes it in the model.
func (m *Mount) before(c durable.Change) error {
	d := m.disk
	if strings.Contains(c.Path, "/tmp/") && c.Kind == durable.Sync { // under no lock for which others wait
		time.Sleep(d.dice.Upto(5 * time.Millisecond))
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	path, inside := m.path(c.Path)
	switch {
	case m.gone:
		return errDead
	case !inside:
		return nil
	case d.dice.Strikes(150):
		m.gone = true
		m.tear(c, path)
		m.crash()
		return errDead
	case d.dice.Strikes(100):
		return m.refuse(c, path)
	}
	m.apply(c, path)
	return nil
}

// path is a path within the disk.
func (m *Mount) path(path string) (string, bool) {
	name, err := filepath.Rel(m.Dir, path)
	return name, err == nil && !strings.HasPrefix(name, "..")
}

// refuse lets a change fail as a full or a failing disk does. Some of a write is there then.
func (m *Mount) refuse(c durable.Change, path string) error {
	if c.Kind == durable.Sync {
		return errDisk
	}
	if part := m.tear(c, path); len(part) > 0 {
		if err := writeAt(c.Path, part, c.At); err != nil {
			return err
		}
	}
	return errRoom
}

// tear does a part of a write in the model, and returns it.
func (m *Mount) tear(c durable.Change, path string) []byte {
	if c.Kind != durable.Write {
		return nil
	}
	part := c.Data[:m.disk.dice.Below(len(c.Data)+1)]
	if len(part) > 0 {
		m.disk.model.Write(path, c.At, part)
	}
	return part
}

func writeAt(path string, data []byte, at int64) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(data, at)
	return errors.Join(err, file.Close())
}

func (m *Mount) apply(c durable.Change, path string) {
	model := m.disk.model
	switch c.Kind {
	case durable.Create:
		model.Create(path)
	case durable.Folder:
		model.Mkdir(path)
	case durable.Remove:
		model.Remove(path)
	case durable.Rename:
		to, _ := m.path(c.To)
		model.Rename(path, to)
	case durable.Write:
		model.Write(path, c.At, c.Data)
	case durable.Truncate:
		model.Truncate(path, c.At)
	case durable.Sync:
		model.Sync(path)
	}
}
