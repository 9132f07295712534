package agent

import (
	"bytes"
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

// HeldError says that a folder of spools is served for another stream, or for nobody knows whom: the owner is empty then.
// Its PID is 0 when that process has ended, and other agents of its stream still serve the folder.
type HeldError struct {
	Root  string
	Owner Owner
}

// Error implements error.
func (e *HeldError) Error() string {
	reader := fmt.Sprintf("process %d for the system on %s, which gets what is recorded there: stop that one", e.Owner.PID, e.Owner.Data)
	switch {
	case e.Owner.Stream == "":
		reader = "another agent, and it is not known whose, as the file " + ownerFile + " there does not say: stop that agent"
	case e.Owner.PID == 0:
		reader = fmt.Sprintf("an agent for the system on %s, which gets what is recorded there: stop that system and its agents", e.Owner.Data)
	}
	return fmt.Sprintf("the folder of spools %s is read by %s, "+
		"or choose another folder with --spool or TENSORTAP_SPOOL for this one and its programs", e.Root, reader)
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
		if !lives(owner.PID) {
			owner.PID = 0
		}
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
	return readOwner(file)
}

// readOwner is who is in the file: an empty Owner when it does not say.
func readOwner(file *os.File) (owner Owner, err error) {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<16))
	if err != nil {
		return Owner{}, fmt.Errorf("read %s: %w", ownerFile, err)
	}
	if json.NewDecoder(bytes.NewReader(text)).Decode(&owner) != nil {
		owner = Owner{} // what was decoded of it says nothing
	}
	return owner, nil
}

func lives(pid int) bool { return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

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
