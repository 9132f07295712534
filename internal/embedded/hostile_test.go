package embedded_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/embedded/guard"
)

// attack is one thing that a hostile client does on a fresh connection.
type attack struct {
	name  string
	send  func(random *rand.Rand) []byte
	read  bool          // wait for some of an answer
	pause time.Duration // between sending and leaving
	reset bool          // leave with a reset and not in order
	want  string        // the status line that an answer must begin with, if one comes
}

func attacks(authorization string) []attack {
	text := func(parts ...string) func(*rand.Rand) []byte {
		return func(*rand.Rand) []byte { return []byte(strings.Join(parts, "")) }
	}
	insert := "POST /?query=INSERT+INTO+tap_test.number+FORMAT+RowBinary HTTP/1.1\r\nHost: localhost\r\n" + authorization
	short := 20 * time.Millisecond
	return []attack{
		{name: "garbage", send: func(r *rand.Rand) []byte { return noise(r, 4000) }, pause: short},
		{name: "garbage and reset", send: func(r *rand.Rand) []byte { return noise(r, 4000) }, reset: true},
		{name: "reset at once", send: text(), reset: true},
		{name: "reset in the header", send: text("POST / HTTP/1.1\r\nHost: localhost\r\n"), reset: true},
		{name: "reset in the header, logged in", send: text(insert), pause: short, reset: true},
		{name: "reset in the body", send: text(insert, "Content-Length: 1000000\r\n\r\n", strings.Repeat("a", 5000)), pause: short, reset: true},
		{name: "reset after the header", send: text(insert, "Content-Length: 1000000\r\n\r\n"), pause: short, reset: true},
		{name: "bad chunk", send: text(insert, "Transfer-Encoding: chunked\r\n\r\nZZZ\r\nabc"), pause: short},
		{name: "bad lz4", send: func(r *rand.Rand) []byte {
			head := "POST /?decompress=1&query=INSERT+INTO+tap_test.number+FORMAT+Native HTTP/1.1\r\nHost: localhost\r\n" + authorization + "Content-Length: 200\r\n\r\n"
			return append([]byte(head), noise(r, 200)...)
		}, pause: short},
		{name: "reset in the result", send: text("GET /?query=SELECT+*+FROM+numbers(100000000) HTTP/1.1\r\nHost: localhost\r\n", authorization, "\r\n"), read: true, reset: true, want: "HTTP/1.1 200"},
		{name: "huge header", send: text("GET / HTTP/1.1\r\nHost: localhost\r\nX: ", strings.Repeat("a", 5_000_000)), read: true, want: "HTTP/1.1 431"},
		{name: "bad sql", send: text("GET /?query=selekt HTTP/1.1\r\nHost: localhost\r\n", authorization, "\r\n"), read: true, want: "HTTP/1.1 4"},
		{name: "bad credentials", send: text("GET /?query=SELECT+1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic !!!!\r\n\r\n"), read: true, want: "HTTP/1.1 401"},
		{name: "wrong password", send: text("GET /?query=SELECT+1 HTTP/1.1\r\nHost: localhost\r\n", basic(guard.Owner, "no"), "\r\n"), read: true, want: "HTTP/1.1 401"},
		{name: "native hello", send: text("\x00\x0aclickhouse\x01\x01\xd0\x06"), pause: short},
		{name: "upgrade", send: text("GET /?query=SELECT+1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n", authorization, "\r\n"), read: true, want: "HTTP/1.1 200"},
		{name: "two lengths", send: text(insert, "Content-Length: 8\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"), read: true},
	}
}

func basic(user, password string) string {
	return "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + "\r\n"
}

func noise(random *rand.Rand, size int) []byte {
	bytes := make([]byte, size)
	for i := range bytes {
		bytes[i] = byte(random.Uint32())
	}
	return bytes
}

// run returns the beginning of the answer, if one was waited for.
func (a attack) run(address string, random *rand.Rand) ([]byte, error) {
	connection, err := (&net.Dialer{Timeout: 3 * time.Second}).DialContext(context.Background(), "tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }()
	_, _ = connection.Write(a.send(random)) // the guard may have had enough before the end
	var answer []byte
	if a.read {
		answer = make([]byte, 1000)
		_ = connection.SetReadDeadline(time.Now().Add(2 * time.Second))
		n, _ := connection.Read(answer)
		answer = answer[:n]
	}
	time.Sleep(a.pause)
	tcp, ok := connection.(*net.TCPConn)
	if !ok {
		return nil, errors.New("not a TCP connection")
	}
	if a.reset {
		return answer, tcp.SetLinger(0)
	}
	return answer, nil
}

func TestEngineSurvivesHostileClients(t *testing.T) {
	t.Parallel()
	engine, _ := startEngine(t, t.TempDir(), nil)
	createTable(t, engine)
	pid, random := engine.PID(), rand.New(rand.NewPCG(1, 2))
	authorization := basic(guard.Owner, engine.Password(guard.Owner))
	for _, a := range attacks(authorization) {
		for range 10 {
			answer, err := a.run(engine.Address(), random)
			if err != nil {
				t.Fatalf("%s: %v", a.name, err)
			}
			if len(answer) > 0 && !bytes.HasPrefix(answer, []byte(a.want)) {
				t.Errorf("%s: got %.200s, want %s", a.name, answer, a.want)
			}
		}
		requireSameEngine(t, engine, pid, a.name)
	}
	for range 3 {
		fuzz(t, engine.Address(), authorization, random)
		requireSameEngine(t, engine, pid, "fuzz")
	}
}

// fuzz sends a valid request with a few bytes changed, and leaves in order or with a reset.
func fuzz(t *testing.T, address, authorization string, random *rand.Rand) {
	t.Helper()
	base := []byte("POST /?query=INSERT+INTO+tap_test.number+FORMAT+RowBinary HTTP/1.1\r\nHost: localhost\r\n" + authorization + "Content-Length: 80\r\n\r\n" + strings.Repeat("\x01", 80))
	for i := range 1000 {
		mutated := attack{reset: i%2 == 0, read: i%4 < 2, send: func(*rand.Rand) []byte {
			bytes := append([]byte(nil), base...)
			for range 1 + random.IntN(6) {
				bytes[random.IntN(len(bytes))] = byte(random.Uint32())
			}
			return append(bytes, "\r\n\r\n"...)
		}}
		if _, err := mutated.run(address, random); err != nil {
			t.Fatalf("fuzz %d: %v", i, err)
		}
	}
}

func requireSameEngine(t *testing.T, engine *embedded.Engine, pid int, after string) {
	t.Helper()
	if status, body := query(t, engine, guard.Owner, "SELECT 1"); status != http.StatusOK || body != "1" {
		t.Errorf("after %s: got %d %s", after, status, body)
	}
	if engine.PID() != pid || engine.Restarts() != 0 {
		t.Fatalf("after %s: engine %d, want %d; %d restarts", after, engine.PID(), pid, engine.Restarts())
	}
}

func TestNothingListensBeyondLoopback(t *testing.T) {
	t.Parallel()
	engine, _ := startEngine(t, t.TempDir(), nil)
	startNATS(t, t.TempDir(), nil)
	found := 0
	for _, pid := range []int{os.Getpid(), engine.PID()} {
		for _, address := range listening(t, pid) {
			found++
			// 127.0.0.1 as the kernel prints it; the mapped form counts as well.
			if !strings.HasPrefix(address, "0100007F:") && !strings.HasPrefix(address, "0000000000000000FFFF00000100007F:") {
				t.Errorf("process %d listens on %s", pid, address)
			}
		}
	}
	if found < 3 {
		t.Errorf("found %d listening sockets, want at least the guard's, the engine's and the NATS server's", found)
	}
}

// listening returns the local addresses, in hexadecimal, of a process's listening sockets.
func listening(t *testing.T, pid int) []string {
	t.Helper()
	own := map[string]bool{}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(target, "socket:[") {
			own[strings.TrimSuffix(strings.TrimPrefix(target, "socket:["), "]")] = true
		}
	}
	var addresses []string
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			continue // no IPv6 here
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && fields[3] == "0A" && own[fields[9]] {
				addresses = append(addresses, fields[1])
			}
		}
	}
	return addresses
}
