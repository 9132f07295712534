// Package durable makes files and folders that are on the disk, under their names, once a
// call returns.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile writes a file for this user alone, whole or not at all, in place
// of one that may be there. Several may write the same path at a time; the
// last wins.
func WriteFile(path string, content io.Reader) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = io.Copy(file, content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(file.Name())))
	}
	return SyncFolder(filepath.Dir(path))
}

// MakeFolder makes a folder for this user alone, and those above it that are missing. A folder that is there may have been
// made by a process that was killed before its name was durable, so that is seen to in any case.
func MakeFolder(path string) error { return Disk{}.MakeFolder(path) }

// MakeFolder is the same on this disk.
func (d Disk) MakeFolder(path string) error {
	parent := filepath.Dir(path)
	wasThere := isFolder(path)
	if !wasThere {
		if err := d.MakeFolder(parent); err != nil {
			return err
		}
		if err := d.Mkdir(path); err != nil && !isFolder(path) {
			return fmt.Errorf("make folder: %w", err)
		}
	}
	err := d.SyncFolder(parent)
	if wasThere && errors.Is(err, fs.ErrPermission) { // what another user keeps to himself he has made himself
		return nil
	}
	return err
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// SyncFolder makes the names of the files in a folder durable.
func SyncFolder(path string) error { return Disk{}.SyncFolder(path) }

// SyncFolder is the same on this disk.
func (d Disk) SyncFolder(path string) error {
	if err := d.before(Change{Kind: Sync, Path: path}); err != nil {
		return fmt.Errorf("sync folder %s: %w", path, err)
	}
	folder, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("sync folder %s: %w", path, err)
	}
	return nil
}
