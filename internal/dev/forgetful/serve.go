package forgetful

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"
)

// serveEnv names the folder that this process serves.
const serveEnv = "TENSORTAP_TEST_DISK"

// mostAge ends a server whose test hangs so that it cannot even end.
const mostAge = 15 * time.Minute

// Serve serves a disk if this process was started for that by Mount, and says whether it was: TestMain returns then.
func Serve() bool {
	dir := os.Getenv(serveEnv)
	if dir == "" {
		return false
	}
	time.AfterFunc(mostAge, func() { os.Exit(1) })
	if err := serve(dir, os.Stdin, os.Stdout); err != nil {
		_, _ = fmt.Fprintln(os.Stdout, err) // nobody may be there to read it
	}
	return true
}

// serve follows commands until they end.
func serve(dir string, commands io.Reader, answers io.Writer) error {
	t := &tape{left: -1}
	long := time.Hour // nobody but the kernel changes anything
	_, err := fs.Mount(dir, t.node(true, 0o700), &fs.Options{
		EntryTimeout: &long, AttrTimeout: &long,
		RootStableAttr: &fs.StableAttr{Ino: rootNode, Mode: fuse.S_IFDIR},
		MountOptions: fuse.MountOptions{
			FsName: "forgetful", DirectMount: true, DisableXAttrs: true, ExplicitDataCacheControl: true,
		},
	})
	if err != nil {
		return err
	}
	defer unmount(dir)
	_, err = fmt.Fprintln(answers, "ready")
	for lines := bufio.NewScanner(commands); err == nil && lines.Scan(); {
		if err = t.follow(lines.Text()); err == nil {
			_, err = fmt.Fprintln(answers, "done")
		}
	}
	return err
}

// unmount takes the disk out of the tree at once, and leaves the rest to the end of those that use it.
func unmount(dir string) {
	if unix.Unmount(dir, unix.MNT_DETACH) == nil {
		return
	}
	for _, program := range []string{"fusermount3", "fusermount"} {
		_ = exec.Command(program, "-uz", dir).Run() //nolint:noctx // it ends by itself
	}
}

// follow follows one command.
func (t *tape) follow(command string) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	verb, rest, _ := strings.Cut(command, " ")
	switch verb {
	case "mark":
		t.operations = append(t.operations, operation{Kind: mark, Name: rest})
		return nil
	case "refuse":
		left, err := strconv.Atoi(rest)
		t.left = left
		return err
	case "save":
		return t.save(rest)
	}
	return fmt.Errorf("no such command: %s", command)
}

func (t *tape) save(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(gob.NewEncoder(file).Encode(t.operations), file.Close())
}
