package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// RootError says why spools below a folder are not read: another user could have made them, or could change them.
type RootError struct {
	Root   string
	Fault  string
	Remedy string // besides another root
}

// Error implements error.
func (e *RootError) Error() string {
	return fmt.Sprintf("the folder of spools %s %s: %s, or choose another with --spool or TENSORTAP_SPOOL", e.Root, e.Fault, e.Remedy)
}

// CheckRoot says with a RootError what is wrong with a folder of spools. One that is not there yet is in order.
func CheckRoot(path string) error {
	root, err := openRoot(path)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return root.Close()
}

// openRoot opens the folder of spools if no other user can write there. Whoever may rename the folder itself is trusted.
func openRoot(path string) (*os.Root, error) {
	path = filepath.Clean(path) // with a slash at its end a link would be followed
	root, err := openOwn(os.Lstat, os.OpenRoot, path)
	if fault := (*faultError)(nil); errors.As(err, &fault) {
		return nil, &RootError{Root: path, Fault: fault.text, Remedy: fault.remedy}
	}
	if err != nil && !missing(err) {
		return nil, fmt.Errorf("open the folder of spools: %w", err)
	}
	return root, err
}

// openOwn opens a folder that only this user can write, and follows no link to it.
func openOwn(lstat func(string) (fs.FileInfo, error), open func(string) (*os.Root, error), name string) (*os.Root, error) {
	named, err := lstat(name)
	if err != nil {
		return nil, err
	}
	if err := folderFault(named); err != nil {
		return nil, err
	}
	folder, err := open(name)
	if err != nil {
		return nil, err
	}
	opened, err := folder.Stat(".")
	if err == nil {
		err = folderFault(opened)
	}
	if err == nil && !os.SameFile(named, opened) {
		err = &faultError{text: "was exchanged while it was opened", remedy: "find out who does that"}
	}
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return folder, nil
}

// faultError says what is wrong with a folder or file of which another user may be the author.
type faultError struct{ text, remedy string }

// Error implements error.
func (e *faultError) Error() string { return "it " + e.text + ": " + e.remedy }

func folderFault(info fs.FileInfo) error {
	const othersWrite = 0o022
	switch owner := ownerOf(info); {
	case info.Mode()&fs.ModeSymlink != 0:
		return &faultError{text: "is a symbolic link", remedy: "name the folder that it stands for, remove it"}
	case !info.IsDir():
		return &faultError{text: "is no folder", remedy: "remove it"}
	case owner != os.Geteuid():
		return &faultError{
			text:   fmt.Sprintf("belongs to user %d and not to this one, %d", owner, os.Geteuid()),
			remedy: "run this as that user, remove it",
		}
	case info.Mode().Perm()&othersWrite != 0:
		return &faultError{
			text:   fmt.Sprintf("may be written by other users (mode %04o)", info.Mode().Perm()),
			remedy: "chmod go-w it if all in it is yours, remove it",
		}
	}
	return nil
}

func ownerOf(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

// openFile opens a file of this user in a process's folder, and follows nothing. With the flag it is made.
func openFile(in *os.Root, name string, flag int) (*os.File, error) {
	info, err := in.Lstat(name)
	switch {
	case missing(err) && flag&os.O_CREATE != 0:
		file, err := in.OpenFile(name, flag|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) { // another agent has made it meanwhile
			return openFile(in, name, flag)
		}
		return file, err
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", name)
	case ownerOf(info) != os.Geteuid():
		return nil, fmt.Errorf("%s belongs to user %d and not to this one, %d", name, ownerOf(info), os.Geteuid())
	}
	return in.OpenFile(name, flag&^os.O_CREATE, 0)
}

// syncNames makes the names in a folder durable.
func syncNames(folder *os.Root) error {
	opened, err := folder.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}

// namesIn are the names in a folder.
func namesIn(folder *os.Root) ([]string, error) {
	opened, err := folder.Open(".")
	if err != nil {
		return nil, err
	}
	defer opened.Close() //nolint:errcheck // only read
	return opened.Readdirnames(-1)
}
