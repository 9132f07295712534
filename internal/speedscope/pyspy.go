package speedscope

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrForbidden says that the system lets nobody look into the process. Another sampler can still be asked.
var ErrForbidden = errors.New("ptrace is forbidden: run as root or as the process's user with kernel.yama.ptrace_scope=0, in a container with --cap-add SYS_PTRACE")

// Spy is an executable of py-spy, and how it is to sample.
type Spy struct {
	Path   string
	Rate   int  // stacks a second
	Native bool // of native code, too
}

// FindSpy looks for py-spy where programs are.
func FindSpy() (Spy, error) {
	path, err := exec.LookPath("py-spy")
	if err != nil {
		return Spy{}, errors.New("py-spy is not installed: pip install py-spy")
	}
	return Spy{Path: path}, nil
}

// Record samples the stacks of a process of this machine.
func (s Spy) Record(ctx context.Context, pid int, span time.Duration) (*File, error) {
	folder, err := os.MkdirTemp("", "tensortap-trace-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder) //nolint:errcheck // of temporary files
	path := filepath.Join(folder, "stacks.json")
	seconds := strconv.Itoa(int(math.Ceil(span.Seconds())))
	args := []string{"record", "--pid", strconv.Itoa(pid), "--duration", seconds, "--rate", strconv.Itoa(s.Rate), "--format", "speedscope", "--idle", "--threads", "--output", path}
	if s.Native {
		args = append(args, "--native")
	}
	said, err := exec.CommandContext(ctx, s.Path, args...).CombinedOutput()
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(path); err == nil { //nolint:gosec // just written
			return Parse(text)
		}
	}
	return nil, spied(ctx, pid, string(said), err)
}

// spied is the error of a call of py-spy that said this.
func spied(ctx context.Context, pid int, said string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("sample process %d: interrupted: %w", pid, context.Cause(ctx))
	}
	for _, sign := range []string{"Permission Denied", "Permission denied", "Operation not permitted", "SYS_PTRACE"} {
		if strings.Contains(said, sign) {
			return fmt.Errorf("sample process %d: %w", pid, ErrForbidden)
		}
	}
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return fmt.Errorf("sample process %d: py-spy: %w: %s", pid, err, lines[len(lines)-1])
}
