// Package forgetful is a disk for tests that records what is done to it, and gives back what a loss of power could have
// left of it at any moment.
//
// A test runs its scenario once in the folder of [Mount], which a process of its own serves by FUSE: a file that is mapped
// into the test's memory would block the test, if the test itself had to answer for it. Then [Recording.Recover] lays out
// one folder for each moment, on an ordinary disk, and the test recovers from it.
//
// What counts as durable is what POSIX promises: the content of a file once it was synced, and a name once its folder was.
package forgetful

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Disk is a recording disk. Its methods may be called by several goroutines at once.
type Disk struct {
	Dir string

	tb       testing.TB
	mutex    sync.Mutex
	commands io.WriteCloser
	answers  *bufio.Scanner
}

// Mount mounts an empty disk until the test ends. The test is skipped where the system has no FUSE. TestMain must call
// Serve.
func Mount(tb testing.TB) *Disk {
	tb.Helper()
	if device, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0); err != nil {
		tb.Skipf("SKIPPED: this system has no FUSE for a disk that loses what was not synced: %v", err)
	} else {
		_ = device.Close()
	}
	d := &Disk{Dir: filepath.Join(tb.TempDir(), "disk"), tb: tb}
	must(tb, os.Mkdir(d.Dir, 0o700))
	server := exec.Command(os.Args[0]) //nolint:noctx // it ends with its standard input, and is killed if it does not
	server.Env = append(os.Environ(), serveEnv+"="+d.Dir)
	server.Stderr = os.Stderr
	var err error
	d.commands, err = server.StdinPipe()
	must(tb, err)
	out, err := server.StdoutPipe()
	must(tb, err)
	d.answers = bufio.NewScanner(out)
	must(tb, server.Start())
	tb.Cleanup(func() { d.end(server) })
	if answer := d.answer(); answer != "ready" {
		tb.Skipf("SKIPPED: this system forbids to mount by FUSE: %s", answer)
	}
	return d
}

// end ends the server, whatever state the test is in. Without it the kernel refuses what still waits for an answer.
func (d *Disk) end(server *exec.Cmd) {
	const grace = 20 * time.Second
	_ = d.commands.Close()
	late := time.AfterFunc(grace, func() { _ = server.Process.Kill() })
	_ = server.Wait()
	late.Stop()
	unmount(d.Dir)
}

func (d *Disk) answer() string {
	if !d.answers.Scan() {
		return fmt.Sprintf("the server is gone: %v", d.answers.Err())
	}
	return d.answers.Text()
}

func (d *Disk) ask(format string, values ...any) {
	d.tb.Helper()
	d.mutex.Lock()
	defer d.mutex.Unlock()
	_, err := fmt.Fprintf(d.commands, format+"\n", values...)
	must(d.tb, err)
	if answer := d.answer(); answer != "done" {
		d.tb.Fatalf("the recording disk answers %q", answer)
	}
}

// Mark notes something between the operations, such as an acknowledgement that was just given.
func (d *Disk) Mark(text string) { d.tb.Helper(); d.ask("mark %s", text) }

// RefuseAfter lets so many more operations through and refuses all others, until Heal: so does the disk look to a process
// that is killed at that moment, and to nobody else.
func (d *Disk) RefuseAfter(operations int) { d.tb.Helper(); d.ask("refuse %d", operations) }

// Heal makes the disk take operations again.
func (d *Disk) Heal() { d.tb.Helper(); d.ask("refuse -1") }

// Recording is what was done to the disk so far.
func (d *Disk) Recording() *Recording {
	d.tb.Helper()
	path := filepath.Join(d.tb.TempDir(), "recording")
	d.ask("save %s", path)
	file, err := os.Open(path)
	must(d.tb, err)
	r := &Recording{}
	must(d.tb, errors.Join(gob.NewDecoder(file).Decode(&r.operations), file.Close()))
	return r
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
