package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// passageDescriptor is the first of exec.Cmd's ExtraFiles in the child.
	passageDescriptor = 3
	// mostReason is the longest reason that a connection was not made, in bytes.
	mostReason = 1024
)

// passage leads to an engine that has a network of its own, where nobody else on the machine reaches its port. The child,
// which is inside, makes the connections and hands their descriptors out.
type passage struct {
	ours   *net.UnixConn
	theirs *os.File // until the child has it
}

func newPassage() (*passage, error) {
	ours, theirs, err := pair()
	return &passage{ours, theirs}, err
}

func pair() (*net.UnixConn, *os.File, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	ours, err := packets(os.NewFile(uintptr(ends[0]), "passage")) //nolint:gosec // a descriptor is small
	return ours, os.NewFile(uintptr(ends[1]), "passage"), err     //nolint:gosec // a descriptor is small
}

// packets takes the file over.
func packets(file *os.File) (*net.UnixConn, error) {
	opened, err := net.FileConn(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	connection, ok := opened.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("got a %T, want a Unix socket", opened)
	}
	return connection, nil
}

// lead starts the command in a network of its own, at the other end. In its user namespace it is who we are, and may set
// up that network.
func (p *passage) lead(command *exec.Cmd) error {
	command.ExtraFiles = []*os.File{p.theirs}
	a := command.SysProcAttr
	a.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	a.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN}
	return errors.Join(command.Start(), p.theirs.Close())
}

// opened waits until the child has set up its network.
func (p *passage) opened(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = p.close() })
	defer stop()
	_, err := receive(p.ours)
	return err
}

// close closes both ends; the child keeps its own.
func (p *passage) close() error { return errors.Join(p.ours.Close(), p.theirs.Close()) }

// dial has the child make a connection to the engine.
func (p *passage) dial(ctx context.Context) (*net.TCPConn, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer ours.Close() //nolint:errcheck // all that came was read
	err = send(p.ours, theirs)
	if err = errors.Join(err, theirs.Close()); err != nil {
		return nil, fmt.Errorf("ask for a connection to the engine: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = ours.Close() })
	defer stop()
	file, err := receive(ours)
	if err != nil {
		return nil, fmt.Errorf("connect to the engine: %w", err)
	}
	opened, err := net.FileConn(file)
	return tcp(opened, errors.Join(err, file.Close()))
}

// openPassage is the child's side: it sets up the network, says so, and from then on makes connections to the engine.
func openPassage(port int) error {
	toParent, err := packets(os.NewFile(passageDescriptor, "passage"))
	if err != nil {
		return fmt.Errorf("open the passage to the parent: %w", err)
	}
	if err := raiseLoopback(); err != nil {
		return errors.Join(err, tell(toParent, err))
	}
	go handOut(toParent, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}) // ends with the process
	return tell(toParent, nil)
}

func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open a socket in the engine's network: %w", err)
	}
	defer unix.Close(socket) //nolint:errcheck // it only names the network
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("set up the engine's network: %w", err)
	}
	return nil
}

func handOut(toParent *net.UnixConn, engine *net.TCPAddr) {
	for {
		file, err := receive(toParent)
		if err != nil {
			return
		}
		go connect(file, engine)
	}
}

// connect makes a connection and sends it to who asked, who learns of every failure by the end of the socket at least.
func connect(asked *os.File, engine *net.TCPAddr) {
	to, err := packets(asked)
	if err != nil {
		return
	}
	defer to.Close() //nolint:errcheck // who asked has gone, or has all
	opened, err := net.DialTCP("tcp", nil, engine)
	if err != nil {
		_ = tell(to, err)
		return
	}
	defer opened.Close() //nolint:errcheck // who asked has a descriptor of its own
	if file, err := opened.File(); err == nil {
		_ = errors.Join(send(to, file), file.Close())
	}
}

// tell says that all is well, or why it is not.
func tell(to *net.UnixConn, reason error) error {
	text := []byte{0}
	if reason != nil {
		text = []byte(reason.Error())
	}
	_, err := to.Write(text[:min(len(text), mostReason)])
	return err
}

func send(to *net.UnixConn, file *os.File) error {
	_, _, err := to.WriteMsgUnix([]byte{0}, unix.UnixRights(int(file.Fd())), nil)
	return err
}

// receive reads what tell or send wrote; the file is nil of tell.
func receive(from *net.UnixConn) (*os.File, error) {
	text, rights := make([]byte, mostReason), make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := from.ReadMsgUnix(text, rights)
	if errors.Is(err, io.EOF) {
		return nil, errEnded
	}
	if err != nil {
		return nil, err
	}
	if text[0] != 0 {
		return nil, toldError(text[:n])
	}
	if m == 0 {
		return nil, nil //nolint:nilnil // tell sends none
	}
	messages, err := unix.ParseSocketControlMessage(rights[:m])
	if err != nil {
		return nil, err
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(descriptors[0]), "engine"), nil //nolint:gosec // a descriptor is small
}
