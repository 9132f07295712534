package system

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/producers/dumps"
)

// keptFolder is where raw tensors of a run lie: a folder of dumps, or that of live processes' payloads.
type keptFolder struct {
	root  string
	dumps map[rows.Place]string // the folders of dumps; a live process's location says itself of which process it is
}

func findKept(root string) (keptFolder, error) {
	kept := keptFolder{root: root, dumps: map[rows.Place]string{}}
	if agent.KeepsPayloads(root) {
		return kept, nil
	}
	found, err := dumps.Find(root)
	if err != nil {
		return kept, err
	}
	for _, dump := range found.Dumps {
		kept.dumps[rows.Place{Rank: dump.Rank, Step: dump.Step}] = dump.Dir
	}
	return kept, nil
}

// open opens a raw tensor, and nothing that lies outside the folder of its dump.
func (k *keptFolder) open(at rows.Place, location string) (*os.File, error) {
	dir, ok := k.dumps[at]
	if agent.IsPayload(location) {
		dir, ok = k.root, true
	}
	if !ok {
		return nil, fmt.Errorf("%s has no step %d of rank %d", k.root, at.Step, at.Rank)
	}
	path := filepath.FromSlash(location)
	if !filepath.IsLocal(path) {
		return nil, fmt.Errorf("%q leads out of the folder of the dump", location)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // only read
	// Without O_NONBLOCK, a named pipe would be waited for.
	return root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
