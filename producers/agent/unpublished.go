package agent

import (
	"encoding/json"
	"os"

	"github.com/tensortap/tensortap/schemas"
)

// Unpublished returns the folders below the root of processes of a run that no agent has published whole. It leaves
// out a folder that its process is just making.
func Unpublished(root, run string) ([]string, error) {
	var found []string
	err := eachFolder(root, func(folders *os.Root, name string) {
		if runOf(folders, name) == run {
			found = append(found, name)
		}
	})
	return found, err
}

// Lives says whether the process of a folder below the root does, as far as can be seen from this machine.
func Lives(root, name string) bool {
	folders, err := openRoot(root)
	if err != nil {
		return false
	}
	defer folders.Close() //nolint:errcheck // only read
	return holdsFor(folders, name, func(_ *os.Root, header *header) bool { return header.isHeld() })
}

// holdsFor says whether something holds for a process, by its folder and header; it does not where these cannot be read.
func holdsFor(folders *os.Root, name string, holds func(in *os.Root, header *header) bool) bool {
	in, err := openOwn(folders.Lstat, folders.OpenRoot, name)
	if err != nil {
		return false
	}
	defer in.Close() //nolint:errcheck // only read
	header, err := openHeader(in)
	if err != nil {
		return false
	}
	defer header.close() //nolint:errcheck // only read
	return holds(in, header)
}

// eachFolder visits the folders of processes below the root; a root that is not there has none.
func eachFolder(root string, visit func(folders *os.Root, name string)) error {
	folders, err := openRoot(root)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer folders.Close() //nolint:errcheck // only read
	names, err := namesIn(folders)
	for _, name := range names {
		if folderName.MatchString(name) {
			visit(folders, name)
		}
	}
	return err
}

// runOf is the name of the run in a folder's first definition; empty when there is none yet, or the folder has gone or
// is not this user's.
func runOf(root *os.Root, name string) string {
	folder, err := openOwn(root.Lstat, root.OpenRoot, name)
	if err != nil {
		return ""
	}
	defer folder.Close() //nolint:errcheck // only read
	definitions, err := openDefinitions(folder)
	if err != nil {
		return ""
	}
	defer definitions.close() //nolint:errcheck // was read only
	text, _, err := definitions.next(-1)
	var first definition
	if err != nil || json.Unmarshal(text, &first) != nil || first.Kind != "run" {
		return ""
	}
	return first.Name
}

// RunIDOf is the id of the run that the process of a folder below the root records; 0 where that is not known.
func RunIDOf(root, name string) uint64 {
	folders, err := openRoot(root)
	if err != nil {
		return 0
	}
	defer folders.Close() //nolint:errcheck // only read
	if run := runOf(folders, name); folderName.MatchString(name) && run != "" {
		return schemas.RunID(run)
	}
	return 0
}
