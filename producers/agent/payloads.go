package agent

import (
	"os"
	"regexp"
	"slices"
)

// payloadLocation is the location of a live process's raw tensor: the name of the process's folder, then
// numbers.
var payloadLocation = regexp.MustCompile(`^[0-9]+-[0-9a-f]{16}/[0-9]+-[0-9]+-[0-9]+\.(safetensors|npy|pt)$`)

// IsPayload says whether a location is that of a live process's raw tensor, below a folder of payloads.
func IsPayload(location string) bool { return payloadLocation.MatchString(location) }

// KeepsPayloads says whether live processes have kept raw tensors in the folder: it then holds a folder for each.
func KeepsPayloads(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.IsDir() && folderName.MatchString(e.Name()) })
}
