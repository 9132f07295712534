package libchdb

import (
	"fmt"
	"os"
	"slices"
	"syscall"
)

// closed returns an error if users besides the owner can write the file: what it holds is run. The group of this user
// is let pass, as many systems give each user one.
func closed(path string, info os.FileInfo) error {
	writable := info.Mode().Perm() & 0o002
	if status, ok := info.Sys().(*syscall.Stat_t); ok && status.Gid != 0 && int(status.Gid) != os.Getegid() {
		writable = info.Mode().Perm() & 0o022
	}
	if writable != 0 {
		return fmt.Errorf("load the ClickHouse engine library: other users may change %s (mode %04o); if it is yours run chmod go-w on it",
			path, info.Mode().Perm())
	}
	return nil
}

// trusted returns an error unless the file that was found belongs to root, to this user, or to whom the tree belongs that
// this program is in. One that the user named may be anybody's.
func (p Places) trusted(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	owners := []int{0, os.Geteuid()}
	if tree, err := os.Stat(p.Tree); err == nil {
		owners = append(owners, owner(tree))
	}
	if !ownedBy(info, owners...) {
		return fmt.Errorf("find the ClickHouse engine library: %s belongs to another user, %d, and is not loaded; %s", path, owner(info), remedy)
	}
	return nil
}

func ownedBy(info os.FileInfo, users ...int) bool { return slices.Contains(users, owner(info)) }

func owner(info os.FileInfo) int {
	if status, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(status.Uid)
	}
	return os.Geteuid()
}
