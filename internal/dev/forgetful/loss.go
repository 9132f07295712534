package forgetful

import (
	"cmp"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// Loss is what happens to that which was not synced.
type Loss int

// Losses.
const (
	Nothing    Loss = iota // a kill: the system lives on and has it all
	Everything             // a loss of power: all of it is gone
	Some                   // a loss of power: some writes and names are there, some are not, and pages are torn
)

// String implements fmt.Stringer.
func (l Loss) String() string {
	return [...]string{"nothing is lost", "all is lost that was not synced", "some is lost that was not synced"}[l]
}

const (
	pageBytes   = 4096
	sectorBytes = 512 // which a disk writes whole or not at all
)

// layOut writes the disk into a folder as a loss leaves it.
func (d *disk) layOut(dir string, loss Loss, random *rand.Rand) error {
	names := func(folder uint64) map[string]uint64 { return d.nodes[folder].names }
	data := func(file *content) []byte { return file.data }
	if loss != Nothing {
		held := d.durable()
		names = func(folder uint64) map[string]uint64 { return held[folder] }
		data = func(file *content) []byte { return file.kept }
	}
	if loss == Some {
		for _, c := range d.changes {
			if random.IntN(2) == 0 {
				c.to(names, d.last)
			}
		}
		data = func(file *content) []byte { return file.torn(random) }
	}
	return d.layOutFolder(rootNode, dir, names, data)
}

func (d *disk) layOutFolder(folder uint64, dir string, names func(uint64) map[string]uint64, data func(*content) []byte) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for _, name := range sorted(names(folder)) { // in order, so that a seed repeats itself
		number, path := names(folder)[name], filepath.Join(dir, name)
		var err error
		if n := d.nodes[number]; n.isFolder {
			err = d.layOutFolder(number, path, names, data)
		} else {
			err = os.WriteFile(path, data(n), 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// torn is a file of which each page holds some version since the last sync, or the beginning of the next one.
func (n *content) torn(random *rand.Rand) []byte {
	left := n.survivors(random)
	data := slices.Clone(n.kept)
	for _, op := range n.pending {
		if op.Kind == truncate {
			if random.IntN(2) == 0 {
				data = resized(data, op.At)
			}
			continue
		}
		for at, piece := range pieces(op) {
			page := left[at/pageBytes]
			switch page.versions--; {
			case page.versions >= 0:
				data = overwritten(data, piece, at)
			case page.versions == -1:
				end := min(max(page.torn-at%pageBytes, 0), int64(len(piece)))
				data = overwritten(data, piece[:end], at)
			}
		}
	}
	return data
}

// survivor says how many versions of a page come to the disk, and how many bytes of the one after them.
type survivor struct {
	versions int
	torn     int64
}

func (n *content) survivors(random *rand.Rand) map[int64]*survivor {
	all := map[int64]*survivor{}
	for _, op := range n.pending {
		for at := range pieces(op) {
			if all[at/pageBytes] == nil {
				all[at/pageBytes] = &survivor{}
			}
			all[at/pageBytes].versions++
		}
	}
	for _, page := range sorted(all) {
		all[page].versions = random.IntN(all[page].versions + 1)
		all[page].torn = max(random.Int64N(2*pageBytes/sectorBytes)*sectorBytes-pageBytes, 0) // in half of all cases
	}
	return all
}

// pieces are the parts of what is written that lie in one page each, by their place in the file.
func pieces(op operation) iter.Seq2[int64, []byte] {
	return func(yield func(int64, []byte) bool) {
		for at, data := op.At, op.Data; len(data) > 0; {
			size := min(pageBytes-at%pageBytes, int64(len(data)))
			if !yield(at, data[:size]) {
				return
			}
			at, data = at+size, data[size:]
		}
	}
}

func sorted[K cmp.Ordered, V any](all map[K]V) []K { return slices.Sorted(maps.Keys(all)) }
