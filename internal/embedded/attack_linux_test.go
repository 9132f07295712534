package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/embedded/guard"
)

// ports are those on which a process listens, in its network.
func ports(t *testing.T, pid int) []int {
	t.Helper()
	var all []int
	for _, address := range listening(t, pid) {
		_, hexadecimal, _ := strings.Cut(address, ":")
		port, err := strconv.ParseInt(hexadecimal, 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, int(port))
	}
	if len(all) == 0 {
		t.Fatalf("process %d listens on no port", pid)
	}
	return all
}

func TestNobodyElseReachesAnEngineThatHasANetworkOfItsOwn(t *testing.T) {
	t.Parallel()
	engine, _ := startEngine(t, t.TempDir(), nil)
	if !engine.Apart() {
		t.Skip("SKIPPED: this system forbids networks for single processes; the test of a shared one is TestAStrangerAtTheEnginesPortGetsNothing")
	}
	for _, port := range ports(t, engine.PID()) {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			err = connection.Close()
			t.Errorf("the engine's port %d can be reached (%v)", port, err)
		} else if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("port %d: %v, want that nobody listens there", port, err)
		}
	}
}

func TestAnEngineThatCannotHaveANetworkSaysSo(t *testing.T) {
	t.Parallel()
	parent := exec.CommandContext(t.Context(), childCommand()[0], "parent", testbed.Library(t), t.TempDir(), "alone")
	parent.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	parent.Stderr = &said
	if err := parent.Start(); errors.Is(err, syscall.EPERM) {
		t.Skip("SKIPPED: this system forbids user namespaces: every engine here is one that cannot have a network")
	} else if err != nil {
		t.Fatal(err)
	}
	var child int
	var dsn string
	_, err = fmt.Fscan(out, &child, &dsn)
	own, network := namespace(t, os.Getpid()), namespace(t, child)
	_ = errors.Join(parent.Process.Kill(), parent.Wait())
	if err != nil || own != network {
		t.Errorf("the engine is in the network %s, the test in %s: %v", network, own, err)
	}
	if want := "other users of this machine reach the engine's port"; !strings.Contains(said.String(), want) {
		t.Errorf("said %s, want %s", said.String(), want)
	}
}

func TestAChildThatEndsAtOnceDoesNotCostTheNetwork(t *testing.T) {
	t.Parallel()
	cfg := embedded.DefaultEngineConfig(testbed.Library(t), t.TempDir(), []string{"true"})
	engine, err := embedded.NewEngine(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Run(t.Context()); err == nil || !engine.Apart() {
		t.Errorf("Run() = %v, Apart() = %t; want an error, and no other try on a port of the machine", err, engine.Apart())
	}
}

func namespace(t *testing.T, pid int) string {
	t.Helper()
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		t.Error(err)
	}
	return name
}

func TestAStrangerAtTheEnginesPortGetsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	engine, _ := startEngine(t, dir, func(c *embedded.EngineConfig) { c.ShareNetwork = true })
	pid, own := engine.PID(), ports(t, engine.PID())
	for _, port := range own {
		for _, sql := range []string{
			"SELECT 1", "SYSTEM STOP LISTEN HTTP", "SELECT groupArray(number) FROM numbers(1000000000)",
			"SELECT file('" + filepath.Join(dir, "users.xml") + "')",
		} {
			for name, change := range strangers() {
				if status, body := asStranger(t, port, sql, change); status == http.StatusOK {
					t.Errorf("%s: %s: got %d %.80q", name, sql, status, body)
				}
			}
		}
	}
	requireSameEngine(t, engine, pid, "strangers")
	if status, body := query(t, engine, guard.Reader, "SELECT file('"+filepath.Join(dir, "config.xml")+"')"); status == http.StatusOK {
		t.Errorf("the reader sees the engine's key: %.80q", body)
	}
}

// strangers are the ways to log in without knowing a password.
func strangers() map[string]func(*http.Request) {
	return map[string]func(*http.Request){
		"nobody":  func(*http.Request) {},
		"default": func(r *http.Request) { r.Header.Set("X-Clickhouse-User", "default") },
		"basic":   func(r *http.Request) { r.SetBasicAuth("default", "") },
		"owner":   func(r *http.Request) { r.SetBasicAuth(guard.Owner, "") },
		"reader":  func(r *http.Request) { r.SetBasicAuth(guard.Reader, "default") },
		"a web page": func(r *http.Request) {
			r.Header.Set("Origin", "http://evil.example")
			r.Host = "evil.example"
		},
	}
}

func asStranger(t *testing.T, port int, sql string, change func(*http.Request)) (status int, body string) {
	t.Helper()
	address := fmt.Sprintf("http://127.0.0.1:%d/?query=%s", port, url.QueryEscape(sql))
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	change(request)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 1000))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestAnEngineThatLivesAndDoesNotAnswerIsRestarted(t *testing.T) {
	t.Parallel()
	for name, silence := range map[string]func(*testing.T, *embedded.Engine){
		"its process is stopped": func(t *testing.T, e *embedded.Engine) {
			t.Helper()
			pid := e.PID()
			if pid == 0 {
				t.Fatal("the engine is between two starts")
			}
			if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		},
		"its port is closed": func(t *testing.T, e *embedded.Engine) {
			t.Helper()
			if status, body := query(t, e, guard.Owner, "SYSTEM STOP LISTEN HTTP"); status != http.StatusOK {
				t.Fatal(status, body)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine, _ := startEngine(t, t.TempDir(), func(c *embedded.EngineConfig) { c.HangTimeout = 5 * time.Second })
			silence(t, engine)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			for engine.Restarts() == 0 && ctx.Err() == nil {
				<-time.After(10 * time.Millisecond)
			}
			for ctx.Err() == nil {
				if status, _ := query(t, engine, guard.Owner, "SELECT 1"); status == http.StatusOK {
					return
				}
				<-time.After(10 * time.Millisecond)
			}
			t.Errorf("%d restarts, and no answer within a minute", engine.Restarts())
		})
	}
}
