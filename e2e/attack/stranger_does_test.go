package attack

import (
	"bufio"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/system"
)

func TestAnotherUserGetsNothingFromThePorts(t *testing.T) {
	t.Parallel()
	u := victim(t)
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	defer open.Close()
	if worked := tried(t, "ports", []string{open.Listener.Addr().String()}); len(worked) == 0 {
		t.Error("the stranger finds no open port open: this test cannot fail")
	}
	own := ports(t, u)
	if len(own) < 2 {
		t.Errorf("the victim listens on %v, want the guard and the stream at least", own)
	}
	if worked := tried(t, "ports", own); len(worked) > 0 {
		t.Errorf("another user may: %q", worked)
	}
	if got := u.Query(t, "SELECT 1"); len(got) != 1 {
		t.Errorf("the victim's own query returns %v", got)
	}
}

// ports are the addresses at which the victim's processes listen, in whatever network, as seen from the machine's.
func ports(tb testing.TB, u *program.Up) []string {
	tb.Helper()
	found := map[string]bool{}
	for _, pid := range processes(tb, u) {
		for _, table := range []string{"tcp", "tcp6"} {
			text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table)) // there may be no IPv6
			for line := range strings.Lines(string(text)) {
				fields := strings.Fields(line)
				if len(fields) > 9 && fields[3] == "0A" && fields[7] == fmt.Sprint(victimID) {
					found[portOf(tb, fields[1])] = true
				}
			}
		}
	}
	var all []string
	for port := range found {
		all = append(all, net.JoinHostPort("127.0.0.1", port))
	}
	slices.Sort(all)
	return all
}

func portOf(tb testing.TB, local string) string {
	tb.Helper()
	_, hexadecimal, _ := strings.Cut(local, ":")
	var port int
	if _, err := fmt.Sscanf(hexadecimal, "%x", &port); err != nil {
		tb.Fatalf("read the port of %q: %v", local, err)
	}
	return fmt.Sprint(port)
}

func TestAnotherUserReachesNoFile(t *testing.T) {
	t.Parallel()
	u := victim(t)
	planted := filepath.Join(common.path("."), "open-to-all")
	if err := os.WriteFile(planted, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(planted, 0o666); err != nil { //nolint:gosec // to be found
		t.Fatal(err)
	}
	if worked := tried(t, "files", []string{planted}); len(worked) < 3 {
		t.Errorf("of a file that is open to all the stranger can only %q: this test cannot fail", worked)
	}
	spool := testbed.NewSpool(t, common.path("home/spool"), testbed.SpoolOptions{Run: "seen", Epoch: uint64(time.Now().UnixNano()), Unlocked: true})
	spool.Close()
	var all []string
	for _, root := range []string{u.Data, common.path("home")} {
		all = append(all, everything(t, root)...)
	}
	// The two folders were made by their owner, for all to look into: their names are seen, and no more.
	seen := []string{u.Data + ": list", common.path("home") + ": list"}
	for _, worked := range tried(t, "files", all) {
		if !strings.HasSuffix(worked, ": look") && !slices.Contains(seen, worked) {
			t.Error("another user may: " + worked)
		}
	}
}

// everything is each file and folder below the root that lasts a moment, and says which has a mode that lets others in.
func everything(t *testing.T, root string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it has been removed meanwhile
		}
		if info, err := entry.Info(); err == nil && path != root && info.Mode().Perm()&0o077 != 0 && info.Mode().Type()&fs.ModeSymlink == 0 {
			t.Errorf("%s has mode %v: others are let in where its folder is open", path, info.Mode())
		}
		all = append(all, path)
		return nil
	})
	if err != nil || len(all) < 2 {
		t.Fatalf("look below %s: %d files, %v", root, len(all), err)
	}
	return all
}

func TestAnotherUserSeesNoSecretOfTheProcesses(t *testing.T) {
	t.Parallel()
	u := victim(t)
	if worked := tried(t, "processes", []string{"self"}); len(worked) < 5 {
		t.Errorf("of itself the stranger sees only %q: this test cannot fail", worked)
	}
	var all []string
	for _, pid := range processes(t, u) {
		all = append(all, fmt.Sprint(pid))
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // which all may
		if err != nil {
			t.Error(err)
		}
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			t.Error(err)
		}
		for _, secret := range secrets(t, u) {
			if strings.Contains(string(line), secret) || strings.Contains(string(environment), secret) {
				t.Errorf("process %d has a password in its arguments or its environment: %q %q", pid, line, environment)
			}
		}
	}
	if worked := tried(t, "processes", all); len(worked) > 0 {
		t.Errorf("another user may: %q", worked)
	}
}

// secrets are the passwords of the victim's servers.
func secrets(tb testing.TB, u *program.Up) []string {
	tb.Helper()
	var all []string
	for _, address := range []string{u.Endpoint.NATS, u.Endpoint.ClickHouse, u.Endpoint.Reader} {
		place, err := url.Parse(address)
		if err != nil {
			tb.Fatal(err)
		}
		secret, ok := place.User.Password()
		if !ok {
			secret = place.User.Username()
		}
		if len(secret) < 20 {
			tb.Fatalf("%q has no password to look for", address)
		}
		all = append(all, secret)
	}
	return all
}

func TestACrashLeavesNoMemoryAndNoOpenFile(t *testing.T) {
	t.Parallel()
	u := victim(t)
	for i, pid := range processes(t, u) {
		if got := lineOf(t, pid, "limits", "Max core file size"); got != "Max core file size 0 0 bytes" {
			t.Errorf("process %d may leave its memory in a file: %s", pid, got)
		}
		if got := lineOf(t, pid, "status", "Umask:"); got != "Umask: 0077" {
			t.Errorf("process %d lets others into its files: %s", pid, got)
		}
		info, err := os.Stat(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			t.Error(err)
		} else if engine := i == 1; engine && ownerOf(info) != 0 {
			t.Errorf("the engine, process %d, may be traced by programs of its user", pid)
		}
	}
}

// lineOf is a line of a file about a process, with single spaces.
func lineOf(tb testing.TB, pid int, file, start string) string {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, start) {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return ""
}

func TestNoSocketOfTheSystemHasAName(t *testing.T) {
	t.Parallel()
	u := victim(t)
	listener, err := net.Listen("unix", filepath.Join(common.path("."), "open.sock")) //nolint:noctx // of this test
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()                                            //nolint:errcheck // nobody speaks to it
	if err := os.Chmod(listener.Addr().String(), 0o777); err != nil { //nolint:gosec // to be found
		t.Fatal(err)
	}
	if worked := tried(t, "sockets", []string{listener.Addr().String()}); len(worked) != 1 {
		t.Error("the stranger cannot connect to an open socket: this test cannot fail")
	}
	if named := sockets(t, u); len(named) > 0 {
		t.Errorf("the sockets %q have names; another user can connect to %q", named, tried(t, "sockets", named))
	}
}

// sockets are the names of the victim's Unix sockets.
func sockets(tb testing.TB, u *program.Up) []string {
	tb.Helper()
	var named []string
	for _, pid := range processes(tb, u) {
		own := map[string]bool{}
		links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, link := range links {
			target, _ := os.Readlink(link)
			own[strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")] = true
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/unix", pid))
		if err != nil || len(own) == 0 {
			tb.Fatalf("look at the sockets of process %d: %v, %d descriptors", pid, err, len(own))
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) == 8 && own[fields[6]] {
				named = append(named, fields[7])
			}
		}
	}
	return named
}

func TestNoPasswordIsSentToAnotherUserWhoTookThePort(t *testing.T) {
	t.Parallel()
	u := victim(t)
	for name, connect := range map[string]func(system.Endpoint) error{
		"the stream":   func(e system.Endpoint) error { _, err := system.ConnectStream(e, time.Now); return err },
		"the database": func(e system.Endpoint) error { _, err := system.OpenReader(t.Context(), e); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, heard := takePort(t)
			moved := u.Endpoint
			for _, place := range []*string{&moved.NATS, &moved.ClickHouse, &moved.Reader} {
				at, err := url.Parse(*place)
				if err != nil {
					t.Fatal(err)
				}
				at.Host = address
				*place = at.String()
			}
			if err := connect(moved); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("another user, %d, listens", strangerID)) {
				t.Errorf("connect: %v, want that it names the other user", err)
			}
			line := <-heard
			for _, secret := range secrets(t, u) {
				if strings.Contains(line, secret) {
					t.Errorf("another user was told a password: %s", line)
				}
			}
			if !strings.Contains(line, `heard ""`) {
				t.Errorf("another user was told %s, want nothing", line)
			}
		})
	}
	client := u.Client(t) // and the victim's own is reached as before
	client.Close()
}

// takePort has the stranger listen, and returns what it was told by each that came.
func takePort(t *testing.T) (address string, heard <-chan string) {
	t.Helper()
	address = testbed.FreeAddress(t)
	cmd := stranger(t, "listen", []string{address})
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "listening" {
		t.Fatalf("the stranger does not listen: %q %v", lines.Text(), lines.Err())
	}
	told := make(chan string, 100)
	go func() {
		defer close(told)
		for lines.Scan() {
			told <- lines.Text()
		}
	}()
	return address, told
}
