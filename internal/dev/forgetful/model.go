package forgetful

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Model is a disk in memory that a test tells what is done, by paths relative to its root. What could not be done on a real
// disk changes nothing. Calls may not overlap.
type Model struct {
	disk *disk
	last uint64
}

// NewModel is an empty disk.
func NewModel() *Model { return &Model{disk: newDisk(), last: rootNode} }

// ModelOf is a disk that holds a folder, durably.
func ModelOf(dir string) (*Model, error) {
	m := NewModel()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		m.add(name, entry.IsDir())
		if entry.IsDir() {
			return nil
		}
		data, err := os.ReadFile(path)
		m.Write(name, 0, data)
		return err
	})
	for number := range m.disk.nodes {
		m.disk.sync(number)
	}
	return m, err
}

// find is the node of a path, 0 if there is none.
func (m *Model) find(path string) uint64 {
	node := uint64(rootNode)
	if path == "." {
		return node
	}
	for name := range strings.SplitSeq(path, "/") {
		folder := m.disk.nodes[node]
		if folder == nil || !folder.isFolder {
			return 0
		}
		node = folder.names[name]
	}
	return node
}

func (m *Model) add(path string, folder bool) {
	above := m.find(filepath.Dir(path))
	if above == 0 || m.find(path) != 0 {
		return
	}
	m.last++
	m.disk.apply(operation{Kind: create, Node: m.last, IsFolder: folder, Folder: above, Name: filepath.Base(path)})
}

// Create makes an empty file, unless there is one.
func (m *Model) Create(path string) { m.add(path, false) }

// Mkdir makes a folder.
func (m *Model) Mkdir(path string) { m.add(path, true) }

// Remove takes a name away, and all below it.
func (m *Model) Remove(path string) {
	if m.find(path) != 0 {
		m.disk.apply(operation{Kind: remove, Folder: m.find(filepath.Dir(path)), Name: filepath.Base(path)})
	}
}

// Rename gives a node another name.
func (m *Model) Rename(from, to string) {
	if m.find(from) != 0 && m.find(filepath.Dir(to)) != 0 {
		m.disk.apply(operation{
			Kind: rename, Folder: m.find(filepath.Dir(from)), Name: filepath.Base(from),
			NewFolder: m.find(filepath.Dir(to)), NewName: filepath.Base(to),
		})
	}
}

// Write writes into a file.
func (m *Model) Write(path string, at int64, data []byte) {
	if node := m.find(path); node != 0 {
		m.disk.apply(operation{Kind: write, Node: node, At: at, Data: append([]byte(nil), data...)})
	}
}

// Truncate makes a file that long.
func (m *Model) Truncate(path string, size int64) {
	if node := m.find(path); node != 0 {
		m.disk.apply(operation{Kind: truncate, Node: node, At: size})
	}
}

// Sync makes durable what a file holds, or the names in a folder.
func (m *Model) Sync(path string) {
	if node := m.find(path); node != 0 {
		m.disk.sync(node)
	}
}

// LayOut writes what a loss leaves of the disk into a folder that is not there yet.
func (m *Model) LayOut(dir string, loss Loss, random *rand.Rand) error {
	return m.disk.layOut(dir, loss, random)
}
