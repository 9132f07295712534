package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strconv"
	"syscall"
)

// Cable joins a host of its own, which is a network namespace, with this one. Pulled, it loses every packet: connections stay, and hear
// nothing, and new ones are not refused. Its methods must not overlap.
type Cable struct {
	here   netip.Addr
	name   string    // of this host's end
	holder *exec.Cmd // keeps the other host; both ends go with its last process
}

// Lay lays a cable. Its error says that this is not allowed here. The caller closes it.
func Lay(ctx context.Context) (*Cable, error) {
	c := &Cable{holder: exec.CommandContext(ctx, "sleep", "infinity")}
	c.holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := c.holder.Start(); err != nil {
		return nil, fmt.Errorf("begin a network namespace: %w", err)
	}
	// 198.18.0.0/15 is for tests of networks; each cable has four addresses of it, by the number of its process.
	pid := c.holder.Process.Pid
	const quad, quads = 4, 1 << 15
	place := uint32(pid)%quads*quad + 1
	c.name = "tap" + strconv.Itoa(pid)
	c.here = netip.AddrFrom4([4]byte{198, 18 + byte(place>>16), byte(place >> 8), byte(place)})
	err := errors.Join(
		runIP(ctx, "link", "add", c.name, "type", "veth", "peer", "name", "far", "netns", strconv.Itoa(pid)),
		runIP(ctx, "address", "add", c.here.String()+"/30", "dev", c.name),
		c.Plug(ctx),
		c.runBeyond(ctx, "address", "add", c.here.Next().String()+"/30", "dev", "far"),
		c.runBeyond(ctx, "link", "set", "far", "up"),
		c.runBeyond(ctx, "link", "set", "lo", "up"),
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lay a cable: %w", err), c.Close())
	}
	return c, nil
}

// Here is this host's address at its end.
func (c *Cable) Here() string { return c.here.String() }

// Beyond has a command that has not begun run on the other host.
func (c *Cable) Beyond(cmd *exec.Cmd) error {
	path, err := exec.LookPath("nsenter")
	if err != nil {
		return err
	}
	cmd.Args = append(c.enterArguments(), append([]string{cmd.Path}, cmd.Args[1:]...)...)
	cmd.Path = path
	return nil
}

func (c *Cable) enterArguments() []string {
	return []string{"nsenter", "--net=/proc/" + strconv.Itoa(c.holder.Process.Pid) + "/ns/net", "--"}
}

// Pull pulls the cable out.
func (c *Cable) Pull(ctx context.Context) error { return runIP(ctx, "link", "set", c.name, "down") }

// Plug puts it in again.
func (c *Cable) Plug(ctx context.Context) error { return runIP(ctx, "link", "set", c.name, "up") }

// Close ends the other host. Processes that run there keep it until they end.
func (c *Cable) Close() error {
	err := c.holder.Process.Kill()
	_ = c.holder.Wait() // killed, which is an error
	return err
}

func (c *Cable) runBeyond(ctx context.Context, args ...string) error {
	enter := c.enterArguments()
	return runCommand(exec.CommandContext(ctx, enter[0], append(enter[1:], append([]string{"ip"}, args...)...)...)) //nolint:gosec // of a test
}

func runIP(ctx context.Context, args ...string) error {
	return runCommand(exec.CommandContext(ctx, "ip", args...)) //nolint:gosec // of a test
}

// runCommand gives the error of a command with what it printed.
func runCommand(cmd *exec.Cmd) error {
	if printed, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", cmd.Args, err, printed)
	}
	return nil
}
