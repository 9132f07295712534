package forgetful

import (
	"sync"
	"syscall"
)

// kind is what an operation does.
type kind int

const (
	mark     kind = iota // Name says what happened
	create               // Node, a file or folder, as Name in Folder
	link                 // Node, as Name in Folder too
	remove               // Name from Folder
	rename               // Name in Folder to NewName in NewFolder
	write                // Data at At of Node
	truncate             // Node to At bytes
	synced               // Node's content, or its names if it is a folder
)

const rootNode = 1

// operation is one change of the disk.
type operation struct {
	Kind      kind
	Node      uint64
	IsFolder  bool
	Folder    uint64
	Name      string
	NewFolder uint64
	NewName   string
	At        int64
	Data      []byte
}

// tape records the operations of a disk. Its mutex guards its nodes, too.
type tape struct {
	mutex      sync.Mutex
	operations []operation
	last       uint64 // number of the last node
	left       int    // operations that are taken before all others are refused; -1: all are taken
}

// take records an operation, which then happens, or refuses it. The mutex is held.
func (t *tape) take(op operation) syscall.Errno {
	if t.left == 0 {
		return syscall.EIO
	}
	if t.left > 0 {
		t.left--
	}
	t.operations = append(t.operations, op)
	return 0
}
