package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// Unpublished returns the folders below the root of processes of a run that no agent has published whole. It leaves
// out a folder that its process is just making.
func Unpublished(root, run string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if missing(err) {
		return nil, nil
	}
	var found []string
	for _, e := range entries {
		if e.IsDir() && folderName.MatchString(e.Name()) && runOf(filepath.Join(root, e.Name())) == run {
			found = append(found, e.Name())
		}
	}
	return found, err
}

// runOf is the name of the run in a folder's first definition; empty when there is none yet, or the folder has gone.
func runOf(dir string) string {
	definitions, err := openDefinitions(dir)
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
