package durable

import (
	"os"
	"path/filepath"
)

// Kind is what a change does.
type Kind int

// Kinds of changes.
const (
	Create   Kind = iota // the file Path, unless it is there
	Folder               // the folder Path
	Remove               // Path, and all below it
	Rename               // Path to To
	Write                // Data at At of the file Path
	Truncate             // the file Path to At bytes
	Sync                 // what the file Path holds, or the names in the folder Path
)

// Change is a change of a file or folder that is about to be made.
type Change struct {
	Kind Kind
	Path string
	To   string
	At   int64
	Data []byte
}

// Disk changes files and folders. The zero Disk is the system's.
type Disk struct {
	// Before, unless it is nil, is told of each change before it is made, and refuses it with its error. Calls may overlap.
	Before func(Change) error
}

func (d Disk) before(c Change) error {
	if d.Before == nil {
		return nil
	}
	return d.Before(c)
}

// File is an open file of a Disk. Writes go to its end, one after another, as long as nothing else moves it.
type File struct {
	*os.File

	disk Disk
	at   int64
}

// OpenFile is os.OpenFile for this user alone.
func (d Disk) OpenFile(path string, flag int) (*File, error) {
	return d.Open(path, flag, func() (*os.File, error) { return os.OpenFile(path, flag, 0o600) })
}

// Open opens the file of that path as the caller does it.
func (d Disk) Open(path string, flag int, open func() (*os.File, error)) (*File, error) {
	if flag&os.O_CREATE != 0 {
		if err := d.before(Change{Kind: Create, Path: path}); err != nil {
			return nil, err
		}
	}
	file, err := open()
	if err != nil {
		return nil, err
	}
	return &File{File: file, disk: d}, nil
}

// Write implements io.Writer.
func (f *File) Write(b []byte) (int, error) {
	if err := f.disk.before(Change{Kind: Write, Path: f.Name(), At: f.at, Data: b}); err != nil {
		return 0, err
	}
	n, err := f.File.Write(b)
	f.at += int64(n)
	return n, err
}

// WriteAt implements io.WriterAt.
func (f *File) WriteAt(b []byte, at int64) (int, error) {
	if err := f.disk.before(Change{Kind: Write, Path: f.Name(), At: at, Data: b}); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, at)
}

// Truncate makes the file that long.
func (f *File) Truncate(size int64) error {
	if err := f.disk.before(Change{Kind: Truncate, Path: f.Name(), At: size}); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Sync returns when what the file holds is durable.
func (f *File) Sync() error {
	if err := f.disk.before(Change{Kind: Sync, Path: f.Name()}); err != nil {
		return err
	}
	return f.File.Sync()
}

// Rename moves a file or folder.
func (d Disk) Rename(from, to string) error {
	if err := d.before(Change{Kind: Rename, Path: from, To: to}); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// Remove removes a file.
func (d Disk) Remove(path string) error {
	if err := d.before(Change{Kind: Remove, Path: path}); err != nil {
		return err
	}
	return os.Remove(path)
}

// RemoveAll removes a file or folder and all below it, if it is there.
func (d Disk) RemoveAll(path string) error {
	if err := d.before(Change{Kind: Remove, Path: path}); err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// Mkdir makes a folder for this user alone.
func (d Disk) Mkdir(path string) error {
	if err := d.before(Change{Kind: Folder, Path: path}); err != nil {
		return err
	}
	return os.Mkdir(path, 0o700)
}

// MkdirAll makes a folder for this user alone, and those above it that are missing. None of their names is durable yet.
func (d Disk) MkdirAll(path string) error {
	if isFolder(path) {
		return nil
	}
	if err := d.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	if err := d.Mkdir(path); err != nil && !isFolder(path) {
		return err
	}
	return nil
}
