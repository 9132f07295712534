package handover

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// reopen opens the terminal that input is, for reading and writing. The error says, as a sentence, why there is none.
func reopen(input *os.File) (*os.File, error) {
	fd := int(input.Fd())
	if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
		return nil, errors.New("standard input of tensortap run is no terminal")
	}
	if group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err == nil && group != unix.Getpgrp() {
		return nil, errors.New("tensortap run is in the background of its terminal")
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", fd), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("the terminal of tensortap run cannot be opened: %w", err)
	}
	return terminal, nil
}

// raw has keys come as they are typed, and not as signals to all of the program. Output is treated as before, since
// others print meanwhile.
func raw(terminal *os.File) (restore func(), err error) {
	fd := int(terminal.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("read the terminal's modes: %w", err)
	}
	modes := *before
	modes.Iflag &^= unix.IXON | unix.ICRNL | unix.INLCR | unix.IGNCR | unix.ISTRIP
	modes.Lflag &^= unix.ICANON | unix.ECHO | unix.ECHONL | unix.ISIG | unix.IEXTEN
	modes.Cc[unix.VMIN], modes.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, &modes); err != nil {
		return nil, fmt.Errorf("set the terminal's modes: %w", err)
	}
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, before) }, nil
}

// pair is the two ends of a pseudo-terminal.
type pair struct{ ours, theirs *os.File }

// openPair makes a pseudo-terminal of the size of the real one.
func openPair(like *os.File) (*pair, error) {
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("make a pseudo-terminal: %w", err)
	}
	p := &pair{ours: ours}
	if err := p.openTheirs(like); err != nil {
		p.close()
		return nil, fmt.Errorf("make a pseudo-terminal: %w", err)
	}
	return p, nil
}

func (p *pair) openTheirs(like *os.File) error {
	fd := int(p.ours.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	theirs, _, failed := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if failed != 0 {
		return failed
	}
	p.theirs = os.NewFile(theirs, "terminal")
	if size, err := unix.IoctlGetWinsize(int(like.Fd()), unix.TIOCGWINSZ); err == nil {
		_ = unix.IoctlSetWinsize(int(p.theirs.Fd()), unix.TIOCSWINSZ, size) // lines are wrapped elsewhere then
	}
	return nil
}

// hand closes the end that another process has now: it hangs up when that process lets it go.
func (p *pair) hand() {
	_ = p.theirs.Close()
	p.theirs = nil
}

func (p *pair) close() {
	_ = p.ours.Close()
	if p.theirs != nil {
		_ = p.theirs.Close()
	}
}

// printable is a process's text without what a terminal would take for a command.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
}
