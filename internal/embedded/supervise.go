package embedded

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/internal/embedded/guard"
)

// pollInterval is the interval of asking a starting engine, and of looking at a locked folder.
const pollInterval = 5 * time.Millisecond

// supervise starts the child again and again until ctx ends. A first start without an answer is an error.
func (e *Engine) supervise(ctx context.Context) error {
	// The kernel kills the child when the thread that started it ends, not only the process: keep this one.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pause := e.cfg.BackoffMin
	for {
		answered, err := e.runOnce(ctx)
		if ctx.Err() != nil {
			return nil // the child was told to stop; its answer no longer matters
		}
		if errors.Is(err, errNoNetwork) && e.Apart() && !e.hasAnswered() {
			e.shared.Store(true)
			e.cfg.Log.Warn().Err(err).Msg("other users of this machine reach the engine's port: they need a password, but can make it restart")
			continue
		}
		if !e.hasAnswered() {
			return fmt.Errorf("start the ClickHouse engine in %s: %w", e.cfg.Dir, err)
		}
		if answered {
			pause = e.cfg.BackoffMin
		}
		e.cfg.Log.Warn().Err(err).Dur("pause", pause).Msg("clickhouse engine ended, restarting it")
		if !wait(ctx, pause) {
			return nil
		}
		pause = min(2*pause, e.cfg.BackoffMax)
		e.restarts.Add(1)
	}
}

func (e *Engine) hasAnswered() bool {
	select {
	case <-e.ready:
		return true
	default:
		return false
	}
}

// runOnce runs one child from start to end. It says whether the child ever answered, and why it ended.
func (e *Engine) runOnce(ctx context.Context) (bool, error) {
	if err := e.awaitFolder(ctx); err != nil {
		return false, err
	}
	place, err := e.network(ctx)
	if err != nil {
		return false, err
	}
	defer place.close()
	// New passwords each time: should another process have taken the port meanwhile, it learns nothing useful.
	engine := guard.Engine{Dial: place.dial, OwnerPassword: rand.Text(), ReaderPassword: rand.Text(), Key: rand.Text()}
	first, err := e.firstOrders(place, engine)
	if err != nil {
		return false, err
	}
	said := &tail{log: e.cfg.Log, ended: ctx.Err}
	command, stdin, err := e.command(ctx, said)
	if err != nil {
		return false, err
	}
	if err := place.start(command); err != nil {
		return false, err
	}
	e.pid.Store(int64(command.Process.Pid))
	answered, err := e.attend(ctx, command, engine, func(ctx context.Context) error {
		_, err := stdin.Write(first)
		return errors.Join(err, place.opened(ctx))
	})
	return answered, errors.Join(err, said.err())
}

// attend waits for the child's end, and meanwhile kills it when it gives no answer.
func (e *Engine) attend(ctx context.Context, command *exec.Cmd, engine guard.Engine, order func(context.Context) error) (bool, error) {
	watchCtx, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	var watch errgroup.Group
	answered := false
	watch.Go(func() error {
		err := e.begin(watchCtx, engine, order)
		if err == nil {
			answered = true
			e.guard.Point(&engine)
			e.once.Do(func() { close(e.ready) })
			err = e.listen(watchCtx, engine)
		}
		if err != nil {
			_ = command.Process.Kill()
		}
		return err
	})
	ended := command.Wait()
	e.pid.Store(0)
	stopWatching()
	err := watch.Wait()
	e.guard.Point(nil)
	if errors.Is(err, context.Canceled) {
		err = nil // the child ended first; that is the reason
	}
	return answered, errors.Join(ended, err)
}

// begin gives the child its orders and waits for its first answer.
func (e *Engine) begin(ctx context.Context, engine guard.Engine, order func(context.Context) error) error {
	ctx, cancel := e.silentFor(ctx, e.cfg.StartTimeout)
	defer cancel()
	if err := order(ctx); err != nil {
		return err
	}
	if err := await(ctx, engine, func(err error) bool { return err == nil }); err != nil {
		return err
	}
	return hideKey(e.cfg.Dir)
}

// listen asks the engine from time to time until ctx ends. One that lives and does not answer is an error: whoever may
// speak to it can have it close its port, and a process can be stopped. One that refuses, as for want of memory, answers.
func (e *Engine) listen(ctx context.Context, engine guard.Engine) error {
	for wait(ctx, e.cfg.HangTimeout/10) {
		askCtx, cancel := e.silentFor(ctx, e.cfg.HangTimeout)
		err := await(askCtx, engine, func(err error) bool { return err == nil || errors.Is(err, errRefused) })
		cancel()
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (e *Engine) silentFor(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, most, fmt.Errorf("it gave no answer within %s", most))
}

// command prepares the child. Its standard input is a pipe whose only other end is here, so it closes
// whenever this process ends. When ctx ends it is closed; after Grace the child is killed.
func (e *Engine) command(ctx context.Context, stderr io.Writer) (*exec.Cmd, io.WriteCloser, error) {
	command := exec.CommandContext(ctx, e.cfg.Command[0], e.cfg.Command[1:]...) //nolint:gosec // our own executable
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("open the engine's standard input: %w", err)
	}
	command.Dir = e.cfg.Dir
	command.Env = []string{"TZ=UTC"} // SQL can read its environment: leave no secret there
	command.Stderr = stderr
	command.SysProcAttr = childAttributes()
	command.Cancel = stdin.Close
	command.WaitDelay = e.cfg.Grace
	return command, stdin, nil
}

// firstOrders writes this start's settings and returns the line that the child waits for.
func (e *Engine) firstOrders(place network, engine guard.Engine) ([]byte, error) {
	config, err := writeSettings(e.cfg.Dir, e.cfg.MaxMemoryBytes, engine)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(orders{
		Library: e.cfg.Library,
		Apart:   place.passage != nil,
		Port:    place.port,
		Arguments: []string{
			"--config-file", config, "--path", e.dataDir(), "--listen_host", "127.0.0.1",
			"--http_port", strconv.Itoa(place.port), "--query", keepAlive,
		},
		Writable: []string{e.cfg.Dir},
		Readable: e.cfg.ReadableDirs,
	})
	if err != nil {
		return nil, fmt.Errorf("write the engine's orders: %w", err)
	}
	return append(line, '\n'), nil
}

// awaitFolder waits until no engine holds the data: one of a killed parent needs a moment to die.
func (e *Engine) awaitFolder(ctx context.Context) error {
	status := filepath.Join(e.dataDir(), "status") // ClickHouse's own lock file
	file, err := os.OpenFile(filepath.Clean(status), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("look for another engine: %w", err)
	}
	defer durable.Unlock(file) //nolint:errcheck // nothing was written
	ctx, cancel := context.WithTimeout(ctx, e.cfg.LockTimeout)
	defer cancel()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return nil
		}
		if !wait(ctx, pollInterval) {
			holder := make([]byte, 256)
			n, _ := file.ReadAt(holder, 0)
			return fmt.Errorf("%s is still held by another engine after %s (%s): %w", e.dataDir(), e.cfg.LockTimeout,
				strings.Join(strings.Fields(string(holder[:n])), " "), err)
		}
	}
}

var errRefused = errors.New("the engine refused a query")

// await asks the engine itself, not through the guard, as its owner, until what came of it is enough.
func await(ctx context.Context, engine guard.Engine, enough func(error) bool) error {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return engine.Dial(ctx) }
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}, Timeout: 5 * time.Second}
	for {
		err := ask(ctx, client, engine)
		if enough(err) {
			return nil
		}
		if !wait(ctx, pollInterval) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

func ask(ctx context.Context, client *http.Client, engine guard.Engine) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://engine/", strings.NewReader("SELECT 1"))
	if err != nil {
		return err
	}
	engine.LogIn(request)
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s: %s", errRefused, response.Status, bytes.TrimSpace(body))
	}
	return nil
}

// wait returns false if ctx ends first.
func wait(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
