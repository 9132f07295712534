package handover

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

const (
	interrupt  = 0x03 // Ctrl-C, as a terminal in raw mode gives it
	lookMillis = 200  // whether ctx has ended
)

// relay carries keys to the process and its output to the terminal, until the process closes its line or ctx ends.
func relay(ctx context.Context, terminal, theirs *os.File, line *net.UnixConn) error {
	peer, err := peerOf(line)
	if err != nil {
		return err
	}
	hangUp, err := line.File()
	if err != nil {
		return err
	}
	defer hangUp.Close() //nolint:errcheck // a copy
	watched := []unix.PollFd{
		{Fd: int32(terminal.Fd()), Events: unix.POLLIN}, //nolint:gosec // descriptors are small
		{Fd: int32(theirs.Fd()), Events: unix.POLLIN},   //nolint:gosec // likewise
		{Fd: int32(hangUp.Fd()), Events: unix.POLLIN},   //nolint:gosec // likewise
	}
	for ctx.Err() == nil {
		if _, err := unix.Poll(watched, lookMillis); err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		if watched[1].Revents&unix.POLLIN != 0 {
			_ = carry(theirs, terminal)
		} else if watched[2].Revents != 0 {
			return nil // and all that it has written is shown
		}
		if watched[0].Revents != 0 {
			if err := typed(terminal, theirs, peer); err != nil {
				return err
			}
		}
	}
	return nil
}

// carry takes what is there from one end to the other.
func carry(from, to *os.File) error {
	var text [mostBytes]byte
	n, err := unix.Read(int(from.Fd()), text[:])
	if n > 0 {
		_, err = to.Write(text[:n])
	}
	return err
}

// typed gives the process what was typed. An interrupt goes to it alone, and not to all of the program.
func typed(terminal, to *os.File, peer int) error {
	var keys [mostBytes]byte
	n, err := unix.Read(int(terminal.Fd()), keys[:])
	if err != nil || n <= 0 {
		return errors.Join(errors.New("the terminal is gone"), err)
	}
	if bytes.IndexByte(keys[:n], interrupt) >= 0 {
		_ = unix.Kill(peer, unix.SIGINT) // it may have gone just now
	}
	_, err = to.Write(keys[:n])
	return err
}

// peerOf is the process at the other end.
func peerOf(line *net.UnixConn) (int, error) {
	raw, err := line.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) { peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return 0, err
	}
	if failed != nil {
		return 0, failed
	}
	if peer.Pid <= 0 { // to signal 0 would be to signal all of this process's group
		return 0, errors.New("the process is of another namespace of processes, where it has no number here")
	}
	return int(peer.Pid), nil
}
