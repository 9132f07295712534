package retention

import (
	"io/fs"
	"syscall"
)

// blockBytes is the unit in which the system counts the room of a file.
const blockBytes = 512

// allocated is the room that a file takes on the disk: a spool's segments are as long as they may become.
func allocated(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Blocks) * blockBytes //nolint:gosec // a count
	}
	return uint64(info.Size()) //nolint:gosec // a size
}
