package forgetful

import (
	"maps"
	"slices"
)

// disk is what a disk holds, and what of that is durable, as the operations come in.
type disk struct {
	nodes   map[uint64]*content
	above   map[uint64]uint64 // the folder of each node
	changes []*change         // of names, not durable yet
	last    map[place]int     // number of the last change there that is durable
	made    int               // changes
	named   bool              // to sync a file makes its name durable, too
}

// content is a file or a folder: as processes see it, and as it is durable.
type content struct {
	isFolder    bool
	data, kept  []byte
	pending     []operation // writes and truncations behind kept
	names, held map[string]uint64
}

// place is a name in a folder.
type place struct {
	folder uint64
	name   string
}

// entry is what has a name.
type entry struct {
	place

	node uint64
}

// change adds a name, removes one, or does both at once. What removes one is never durable before what adds one: a file
// that is moved is lost by no disk.
type change struct {
	number               int
	add, del             *entry
	addSynced, delSynced bool
}

func newDisk() *disk {
	return &disk{nodes: map[uint64]*content{rootNode: newFolder()}, above: map[uint64]uint64{}, last: map[place]int{}}
}

func newFolder() *content {
	return &content{isFolder: true, names: map[string]uint64{}, held: map[string]uint64{}}
}

// apply does one operation.
func (d *disk) apply(op operation) {
	switch op.Kind {
	case create:
		d.nodes[op.Node] = &content{}
		if op.IsFolder {
			d.nodes[op.Node] = newFolder()
		}
		d.change(&change{add: &entry{place{op.Folder, op.Name}, op.Node}})
	case link:
		d.change(&change{add: &entry{place{op.Folder, op.Name}, op.Node}})
	case remove:
		d.change(&change{del: &entry{place{op.Folder, op.Name}, d.nodes[op.Folder].names[op.Name]}})
	case rename:
		moved := d.nodes[op.Folder].names[op.Name]
		d.change(&change{add: &entry{place{op.NewFolder, op.NewName}, moved}, del: &entry{place{op.Folder, op.Name}, moved}})
	case write, truncate:
		file := d.nodes[op.Node]
		file.data = did(file.data, op)
		file.pending = append(file.pending, op)
	case synced:
		d.sync(op.Node)
	case mark:
	}
}

// did is a file's content after an operation.
func did(data []byte, op operation) []byte {
	if op.Kind == truncate {
		return resized(data, op.At)
	}
	return overwritten(data, op.Data, op.At)
}

func (d *disk) change(c *change) {
	d.made++
	c.number = d.made
	c.to(func(folder uint64) map[string]uint64 { return d.nodes[folder].names }, nil)
	if c.add != nil {
		d.above[c.add.node] = c.add.folder
	}
	d.changes = append(d.changes, c)
}

// to makes the change in one version of the folders, as far as nothing later is durable there.
func (c *change) to(names func(folder uint64) map[string]uint64, last map[place]int) {
	if c.add != nil && c.number >= last[c.add.place] {
		names(c.add.folder)[c.add.name] = c.add.node
	}
	if c.del != nil && c.number >= last[c.del.place] {
		c.del.removeFrom(names(c.del.folder))
	}
}

func (e *entry) removeFrom(names map[string]uint64) {
	if names[e.name] == e.node { // else another has the name by now
		delete(names, e.name)
	}
}

// sync makes a file's content durable, or a folder's names.
func (d *disk) sync(number uint64) {
	n := d.nodes[number]
	n.kept, n.pending = slices.Clone(n.data), nil
	if d.named {
		d.syncName(number)
	}
	if n.isFolder {
		d.changes = slices.DeleteFunc(d.changes, func(c *change) bool { return d.keep(c, number) })
	}
}

// syncName makes durable how the node and the folders above it came to their names.
func (d *disk) syncName(number uint64) {
	for ; number != rootNode; number = d.above[number] {
		d.changes = slices.DeleteFunc(d.changes, func(c *change) bool {
			if c.add == nil || c.add.node != number {
				return false
			}
			d.keep(c, c.add.folder)
			return c.del == nil || d.keep(c, c.del.folder)
		})
	}
}

// keep makes durable what is left of a change in a synced folder, and says whether all of it is now.
func (d *disk) keep(c *change, folder uint64) bool {
	c.addSynced = c.addSynced || c.add != nil && c.add.folder == folder
	c.delSynced = c.delSynced || c.del != nil && c.del.folder == folder
	if c.add != nil && !c.addSynced {
		return false
	}
	done := *c
	if !c.delSynced {
		done.del = nil
	}
	done.to(func(folder uint64) map[string]uint64 { return d.nodes[folder].held }, d.last)
	for _, e := range []*entry{done.add, done.del} {
		if e != nil {
			d.last[e.place] = max(d.last[e.place], c.number)
		}
	}
	return c.del == nil || c.delSynced
}

// durable are the durable names of all folders, in a copy.
func (d *disk) durable() map[uint64]map[string]uint64 {
	all := map[uint64]map[string]uint64{}
	for number, n := range d.nodes {
		if n.isFolder {
			all[number] = maps.Clone(n.held)
		}
	}
	return all
}
