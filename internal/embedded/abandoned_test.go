package embedded_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/embedded/guard"
)

func TestAbandonedQueryEndsAndEngineGoesOn(t *testing.T) {
	t.Parallel()
	engine, _ := startEngine(t, t.TempDir(), nil)
	pid := engine.PID()
	for name, sql := range map[string]string{
		"endless result": "SELECT * FROM system.numbers",
		"long silence":   "SELECT sum(sleepEachRow(1)) FROM numbers(100) SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, _, err := post(ctx, engine.DSN(guard.Owner)+"/", sql)
		cancel()
		if err == nil {
			t.Errorf("%s: got no error after leaving", name)
		}
		deadline := time.Now().Add(10 * time.Second)
		for running(t, engine) != "0" {
			if time.Now().After(deadline) {
				t.Fatalf("%s: still running 10 s after the client left", name)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	requireSameEngine(t, engine, pid, "abandoned queries")
}

func running(t *testing.T, engine *embedded.Engine) string {
	t.Helper()
	return must(t, engine, "SELECT count() FROM system.processes WHERE user = 'owner' AND query NOT LIKE '%processes%'")
}

func TestStalledClientsAreSurvived(t *testing.T) {
	t.Parallel()
	engine, _ := startEngine(t, t.TempDir(), nil)
	createTable(t, engine)
	pid, authorization := engine.PID(), basic(guard.Owner, engine.Password(guard.Owner))
	for name, request := range map[string]string{
		"reader": "GET /?http_send_timeout=1&query=SELECT+*+FROM+system.numbers+LIMIT+100000000 HTTP/1.1\r\nHost: a\r\n" + authorization + "\r\n",
		"writer": "POST /?http_receive_timeout=1&query=INSERT+INTO+tap_test.number+FORMAT+RowBinary HTTP/1.1\r\nHost: a\r\n" + authorization + "Content-Length: 1000000\r\n\r\naaaaaaaa",
	} {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", engine.Address())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := connection.Write([]byte(request)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Second)
		_ = connection.Close()
		requireSameEngine(t, engine, pid, "a stalled "+name)
	}
	if got := must(t, engine, "SELECT count() FROM tap_test.number"); got != "0" {
		t.Errorf("rows of an insert that never ended: got %s, want 0", got)
	}
}

func TestRefusedInsertStillSaysWhy(t *testing.T) {
	t.Parallel()
	engine, _ := startEngine(t, t.TempDir(), nil)
	pid := engine.PID()
	for _, megabytes := range []int{0, 1, 20} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			engine.DSN(guard.Owner)+"/?query="+url.QueryEscape("INSERT INTO nowhere.table FORMAT RowBinary"), io.LimitReader(zeros{}, int64(megabytes)<<20))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Errorf("%d MiB: %v", megabytes, err)
			continue
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || !bytes.Contains(body, []byte("UNKNOWN_DATABASE")) {
			t.Errorf("%d MiB: got %d %.200s %v, want UNKNOWN_DATABASE", megabytes, response.StatusCode, body, err)
		}
	}
	requireSameEngine(t, engine, pid, "refused inserts")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func BenchmarkGuardRoundTrip(b *testing.B) {
	engine := benchEngine(b)
	for b.Loop() {
		if status, body, err := post(b.Context(), engine.DSN(guard.Owner)+"/", "SELECT 1"); err != nil || status != http.StatusOK {
			b.Fatal(status, body, err)
		}
	}
}

func BenchmarkGuardResultBytes(b *testing.B) {
	engine := benchEngine(b)
	const rows = 10_000_000
	address := engine.DSN(guard.Owner) + "/?query=" + url.QueryEscape(fmt.Sprintf("SELECT number FROM numbers(%d) FORMAT RowBinary", rows))
	b.SetBytes(rows * 8)
	for b.Loop() {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			b.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil || response.StatusCode != http.StatusOK {
			b.Fatal(response, err)
		}
		if n, err := io.Copy(io.Discard, response.Body); err != nil || n != rows*8 {
			b.Fatal(n, err)
		}
		_ = response.Body.Close()
	}
}

func BenchmarkGuardInsertBytes(b *testing.B) {
	engine := benchEngine(b)
	const size = 80 << 20
	address := engine.DSN(guard.Owner) + "/?query=" + url.QueryEscape("INSERT INTO FUNCTION null('a UInt64') FORMAT RowBinary")
	b.SetBytes(size)
	for b.Loop() {
		request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, address, io.LimitReader(zeros{}, size))
		if err != nil {
			b.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil || response.StatusCode != http.StatusOK {
			b.Fatal(response, err)
		}
		_ = response.Body.Close()
	}
}
