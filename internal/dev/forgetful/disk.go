package forgetful

import (
	"maps"
	"slices"
)

// disk is what a disk holds, and what of that is durable, as the operations come in.
type disk struct {
	nodes   map[uint64]*content
	changes []*change // of names, not durable yet
}

// content is a file or a folder: as processes see it, and as it is durable.
type content struct {
	isFolder    bool
	data, kept  []byte
	pending     []operation // writes and truncations behind kept
	names, held map[string]uint64
}

// entry is a name in a folder.
type entry struct {
	folder, node uint64
	name         string
}

// change adds a name, removes one, or does both at once. What removes one is never durable before what adds one: a file
// that is moved is lost by no disk.
type change struct {
	add, del             *entry
	addSynced, delSynced bool
}

func newDisk() *disk {
	return &disk{nodes: map[uint64]*content{rootNode: newFolder()}}
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
		d.change(&change{add: &entry{op.Folder, op.Node, op.Name}})
	case link:
		d.change(&change{add: &entry{op.Folder, op.Node, op.Name}})
	case remove:
		d.change(&change{del: &entry{op.Folder, d.nodes[op.Folder].names[op.Name], op.Name}})
	case rename:
		moved := d.nodes[op.Folder].names[op.Name]
		d.change(&change{add: &entry{op.NewFolder, moved, op.NewName}, del: &entry{op.Folder, moved, op.Name}})
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
	c.to(func(folder uint64) map[string]uint64 { return d.nodes[folder].names })
	d.changes = append(d.changes, c)
}

// to makes the change in one version of the folders, as far as it is not durable.
func (c *change) to(names func(folder uint64) map[string]uint64) {
	if c.add != nil && !c.addSynced {
		names(c.add.folder)[c.add.name] = c.add.node
	}
	if c.del != nil {
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
	if !n.isFolder {
		return
	}
	var left []*change
	for _, c := range d.changes {
		if !d.keep(c, number) {
			left = append(left, c)
		}
	}
	d.changes = left
}

// keep makes durable what is left of a change in a synced folder, and says whether all of it is now.
func (d *disk) keep(c *change, folder uint64) bool {
	if c.add != nil && c.add.folder == folder && !c.addSynced {
		c.addSynced = true
		d.nodes[folder].held[c.add.name] = c.add.node
	}
	c.delSynced = c.delSynced || c.del != nil && c.del.folder == folder
	if c.add != nil && !c.addSynced {
		return false
	}
	if c.delSynced {
		c.del.removeFrom(d.nodes[c.del.folder].held)
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
