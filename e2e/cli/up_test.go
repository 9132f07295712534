package cli

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

func TestASecondSystemSaysWhoHoldsTheFolder(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	holder := fmt.Sprintf("process %d", u.Cmd.Process.Pid)
	for _, command := range []string{"up", "replay"} {
		out := program.Run(t, u.Setting, command)
		if out.Status != 2 || out.Stdout != "" || !strings.Contains(out.Stderr, holder) || !strings.Contains(out.Stderr, u.Data) {
			t.Errorf("%s: %v, want status 2 and %q", command, out, holder)
		}
	}
	u.Query(t, "SELECT 1") // the first is none the worse
}

func TestAPortThatIsTakenIsToldWithAWayOut(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	taken, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // nobody asks it
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	for flag, given := range map[string]struct{ value, free string }{
		"--listen":          {"127.0.0.1:" + port, "127.0.0.1:0"},
		"--metrics":         {":" + port, ":0"},
		"--pprof":           {port, "0"},
		"--clickhouse-port": {port, "0"},
	} {
		out := program.Run(t, program.Setting{Data: t.TempDir()}, "up", flag, given.value)
		for _, want := range []string{flag + ` "` + given.value + `"`, "already in use", "`ss -ltnp 'sport = :" + port + "'` says by whom", flag + " " + given.free + " takes a free port"} {
			if out.Status != program.ExitError || !strings.Contains(out.Stderr, want) {
				t.Errorf("up %s %s: %v, want %q", flag, given.value, out, want)
			}
		}
	}
}

func TestUpSaysWhereEverythingListensOnThisMachineOnly(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	text := u.Stdout.String()
	for name, address := range map[string]string{"stream": u.Endpoint.NATS, "clickhouse": u.Endpoint.ClickHouse, "reader": u.Endpoint.Reader} {
		parsed, err := url.Parse(address)
		if err != nil || !net.ParseIP(parsed.Hostname()).IsLoopback() || !strings.Contains(text, parsed.Host) {
			t.Errorf("%s listens at %s; up says\n%s", name, address, text)
		}
	}
	owner, _ := url.Parse(u.Endpoint.ClickHouse)
	secret, _ := owner.User.Password()
	if secret == "" || strings.Contains(text, secret) {
		t.Errorf("up shows the owner's password %q in\n%s", secret, text)
	}
	for _, part := range []string{u.Data, u.Endpoint.Archive, "until Ctrl-C", "tensortap publish msprobe DIR --run NAME"} {
		if !strings.Contains(text, part) {
			t.Errorf("up says\n%s\nwant %q in it", text, part)
		}
	}
	listening := listeners(t, u.Cmd.Process.Pid)
	if len(listening) < 2 {
		t.Errorf("%d sockets listen, want NATS and the guard", len(listening))
	}
	for _, address := range listening {
		if !strings.HasPrefix(address, "0100007F:") && !strings.HasPrefix(address, "00000000000000000000000001000000:") {
			t.Errorf("something listens at %s, which is not loopback", address)
		}
	}
	info, err := os.Stat(filepath.Join(u.Data, "endpoint.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("endpoint.json: %v, %v, want it private", info.Mode(), err)
	}
}

// listeners are the addresses, as the kernel writes them, at which the process and its children accept TCP connections.
func listeners(tb testing.TB, pid int) []string {
	tb.Helper()
	sockets := map[string]bool{}
	for _, process := range append(children(tb, pid), pid) {
		links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", process))
		if err != nil {
			tb.Fatal(err)
		}
		for _, link := range links {
			if target, err := os.Readlink(link); err == nil {
				sockets[target] = true
			}
		}
	}
	var found []string
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			tb.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && fields[3] == "0A" && sockets["socket:["+fields[9]+"]"] {
				found = append(found, fields[1])
			}
		}
	}
	return found
}

func children(tb testing.TB, pid int) []int {
	tb.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		tb.Fatal(err)
	}
	var found []int
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that has ended
		}
		for word := range strings.FieldsSeq(string(text)) {
			found = append(found, program.Number(tb, word))
		}
	}
	return found
}
