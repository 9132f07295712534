package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// Owner is whose agents serve a folder of spools.
type Owner struct {
	PID    int    `json:"pid"`
	Data   string `json:"data"`   // folder of its system
	Stream string `json:"stream"` // address of the stream that gets the runs
}

// HeldError says that a folder of spools is served for another stream.
type HeldError struct {
	Root  string
	Owner Owner
}

// Error implements error.
func (e *HeldError) Error() string {
	return fmt.Sprintf("the folder of spools %s is read by process %d for the system on %s, which gets what is recorded there: "+
		"stop that one, or choose another folder with --spool or TENSORTAP_SPOOL for this one and its programs", e.Root, e.Owner.PID, e.Owner.Data)
}

const ownerFile = "owner"

// claim is a folder of spools that is held for an owner, until the file is closed or the process ends.
type claim struct {
	root fs.FileInfo
	file *os.File
}

func (c *claim) is(root *os.Root) bool {
	info, err := root.Stat(".")
	return err == nil && c != nil && os.SameFile(c.root, info)
}

// newClaim holds the folder together with other agents of the same stream. Its error is a HeldError if those of another do.
func newClaim(root *os.Root, path string, me Owner) (*claim, error) {
	info, err := root.Stat(".")
	if err != nil {
		return nil, err
	}
	file, err := openFile(root, ownerFile, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	owner, err := shared(file, me)
	if err == nil && owner.Stream != me.Stream {
		err = &HeldError{Root: path, Owner: owner}
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &claim{root: info, file: file}, nil
}

// shared locks the file, writes the owner into it if nobody else has it locked, and returns who is in it.
func shared(file *os.File, me Owner) (Owner, error) {
	lock := int(file.Fd())
	if syscall.Flock(lock, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		err := writeOwner(file, me)
		if errors.Is(err, syscall.ENOSPC) { // held without a name: agents of others cannot read whose it is, and stay away
			return me, syscall.Flock(lock, syscall.LOCK_SH)
		}
		if err != nil {
			return Owner{}, err
		}
	}
	// Another may come between the two locks and be the owner then: what is read under the second counts.
	if err := syscall.Flock(lock, syscall.LOCK_SH); err != nil {
		return Owner{}, fmt.Errorf("lock %s: %w", ownerFile, err)
	}
	var owner Owner
	if err := json.NewDecoder(io.NewSectionReader(file, 0, 1<<16)).Decode(&owner); err != nil {
		return Owner{}, fmt.Errorf("read %s: %w", ownerFile, err)
	}
	return owner, nil
}

func writeOwner(file *os.File, me Owner) error {
	text, err := json.Marshal(me)
	if err == nil {
		_, err = file.WriteAt(text, 0) // in the room that it has: a full disk would not give it again
	}
	if err == nil {
		err = file.Truncate(int64(len(text)))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", ownerFile, err)
	}
	return nil
}
