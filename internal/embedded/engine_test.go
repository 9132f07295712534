package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/embedded/guard"
)

// query sends sql as user through the guard and returns the status and the body.
func query(t *testing.T, engine *embedded.Engine, user, sql string) (int, string) {
	t.Helper()
	status, body, err := post(t.Context(), engine.DSN(user)+"/", sql)
	if err != nil {
		t.Fatalf("%s: %s: %v", user, sql, err)
	}
	return status, body
}

func post(ctx context.Context, address, sql string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(sql))
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, strings.TrimSpace(string(body)), errors.Join(err, response.Body.Close())
}

func must(t *testing.T, engine *embedded.Engine, sql string) string {
	t.Helper()
	status, body := query(t, engine, guard.Owner, sql)
	if status != http.StatusOK {
		t.Fatalf("%s: got %d %s", sql, status, body)
	}
	return body
}

func createTable(t *testing.T, engine *embedded.Engine) {
	t.Helper()
	must(t, engine, "CREATE DATABASE tap_test ENGINE = Atomic")
	must(t, engine, "CREATE TABLE tap_test.number (a UInt64) ENGINE = MergeTree ORDER BY a SETTINGS fsync_after_insert = 1, fsync_part_directory = 1")
}

func TestEngineAnswersAndIsPrivate(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	dir := t.TempDir()
	engine, stop := startEngine(t, dir, nil)
	t.Logf("ready after %s", time.Since(begin))
	if got := must(t, engine, "SELECT version() LIKE '26.7.%'"); got != "1" {
		t.Errorf("version: got %s", must(t, engine, "SELECT version()"))
	}
	if got := must(t, engine, "SELECT value FROM system.server_settings WHERE name = 'max_server_memory_usage'"); got != "1073741824" {
		t.Errorf("max_server_memory_usage: got %s", got)
	}
	if got := must(t, engine, "SELECT count() FROM system.tables WHERE database = 'system' AND name LIKE '%\\_log'"); got != "0" {
		t.Errorf("log tables: got %s, want none", got)
	}
	if got := must(t, engine, "SELECT timezone()"); got != "UTC" {
		t.Errorf("time zone: got %s, want UTC", got)
	}
	if info, err := os.Stat(filepath.Join(dir, "users.xml")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("users.xml: %v, %v; want mode 0600", info, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "config.xml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("config.xml, which holds the engine's key: %v, want that it has gone", err)
	}
	time.Sleep(500 * time.Millisecond)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", engine.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmRSS") || strings.HasPrefix(line, "RssAnon") || strings.HasPrefix(line, "Threads") {
			t.Log(strings.TrimSpace(line))
		}
	}
	pid := engine.PID()
	begin = time.Now()
	stop()
	t.Logf("stopped after %s", time.Since(begin))
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("the child %d is still there after Run", pid)
	}
}

func TestEngineCannotReadOutsideItsFolders(t *testing.T) {
	t.Parallel()
	secret, shared := t.TempDir(), t.TempDir()
	for _, dir := range []string{secret, shared} {
		if err := os.WriteFile(filepath.Join(dir, "text.csv"), []byte("a,b\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	engine, _ := startEngine(t, t.TempDir(), func(c *embedded.EngineConfig) { c.ReadableDirs = []string{shared} })
	for _, user := range []string{guard.Owner, guard.Reader} {
		status, body := query(t, engine, user, fmt.Sprintf("SELECT file('%s/text.csv')", secret))
		if status == http.StatusOK {
			t.Errorf("%s read a private file: %s", user, body)
		}
	}
	if got := must(t, engine, fmt.Sprintf("SELECT c2 FROM file('%s/text.csv', CSV)", shared)); got != "b" {
		t.Errorf("owner reads a folder that was allowed: got %q, want b", got)
	}
	if status, body := query(t, engine, guard.Owner, fmt.Sprintf("INSERT INTO FUNCTION file('%s/new.csv', CSV, 'a Int8') VALUES (1)", shared)); status == http.StatusOK {
		t.Errorf("owner wrote into a readable folder: %s", body)
	}
}

func TestReaderReadsAndCannotChangeAnything(t *testing.T) {
	t.Parallel()
	engine, _ := startEngine(t, t.TempDir(), nil)
	createTable(t, engine)
	must(t, engine, "INSERT INTO tap_test.number SELECT number FROM numbers(1000)")
	for _, sql := range []string{
		"SELECT count() FROM tap_test.number", "SELECT count() FROM tap_test.number SETTINGS max_execution_time = 5, join_use_nulls = 1",
		"SHOW TABLES FROM tap_test", "EXPLAIN SELECT a FROM tap_test.number",
	} {
		if status, body := query(t, engine, guard.Reader, sql); status != http.StatusOK {
			t.Errorf("reader: %s: got %d %s", sql, status, body)
		}
	}
	for _, sql := range []string{
		"INSERT INTO tap_test.number VALUES (1)", "CREATE TABLE tap_test.more (a UInt64) ENGINE = Memory", "CREATE TEMPORARY TABLE more (a UInt64)",
		"DROP TABLE tap_test.number", "TRUNCATE TABLE tap_test.number", "ALTER TABLE tap_test.number DELETE WHERE 1", "OPTIMIZE TABLE tap_test.number",
		"SYSTEM SHUTDOWN", "SYSTEM STOP LISTEN HTTP", "SET readonly = 0", "BACKUP TABLE tap_test.number TO File('b')", "SELECT * FROM file('users.xml', LineAsString)",
		"SELECT * FROM url('http://127.0.0.1:1/', LineAsString)", "SELECT * FROM remote('127.0.0.1', system.one)", "CREATE DATABASE more", "CREATE USER more", "GRANT ALL ON *.* TO reader",
	} {
		for _, parameters := range []string{"/", "/?readonly=0", "/?profile=default"} {
			status, body, err := post(t.Context(), engine.DSN(guard.Reader)+parameters, sql)
			if err != nil || status == http.StatusOK {
				t.Errorf("reader: %s %s: got %d %s %v, want a refusal", parameters, sql, status, body, err)
			}
		}
	}
	if got := must(t, engine, "SELECT count() FROM tap_test.number"); got != "1000" {
		t.Errorf("rows: got %s, want 1000", got)
	}
}

func TestReaderCannotKillOwnersQuery(t *testing.T) {
	t.Parallel()
	engine, _ := startEngine(t, t.TempDir(), nil)
	ended := make(chan string, 1)
	go func() {
		status, body, err := post(t.Context(), engine.DSN(guard.Owner)+"/?query_id=long", "SELECT sum(sleepEachRow(0.5)) FROM numbers(4) SETTINGS max_block_size = 1")
		ended <- fmt.Sprint(status, " ", body, " ", err)
	}()
	for must(t, engine, "SELECT count() FROM system.processes WHERE query_id = 'long'") != "1" {
		time.Sleep(10 * time.Millisecond)
	}
	_, body := query(t, engine, guard.Reader, "KILL QUERY WHERE query_id = 'long' SYNC")
	if got := <-ended; got != "200 0 <nil>" {
		t.Errorf("owner's query after reader's KILL (%s): got %s", body, got)
	}
}

func TestKilledEngineRestartsWithItsData(t *testing.T) {
	t.Parallel()
	engine, _ := startEngine(t, t.TempDir(), nil)
	createTable(t, engine)
	dsn, acknowledged := engine.DSN(guard.Owner), 0
	for kill := range 5 {
		pid := engine.PID()
		for i := range 20 {
			if i == 10 {
				go func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
			}
			number := kill*20 + i
			for {
				sql := fmt.Sprintf("INSERT INTO tap_test.number SELECT %d + number FROM numbers(1000) WHERE %[1]d NOT IN (SELECT a FROM tap_test.number)", number*1000)
				status, _, err := post(t.Context(), dsn+"/?async_insert=0", sql)
				if err != nil {
					t.Fatalf("the guard was gone: %v", err)
				}
				if status == http.StatusOK {
					acknowledged++
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
		}
	}
	if got, want := must(t, engine, "SELECT count(), uniqExact(a) FROM tap_test.number"), fmt.Sprintf("%d\t%d", acknowledged*1000, acknowledged*1000); got != want {
		t.Errorf("rows after kills: got %s, want %s", got, want)
	}
	if engine.Restarts() != 5 {
		t.Errorf("restarts: got %d, want 5", engine.Restarts())
	}
}

func TestEngineGoesWithKilledParentAndFolderIsFreeAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	self := childCommand()[0]
	for range 3 {
		parent := exec.CommandContext(t.Context(), self, "parent", testbed.Library(t), dir)
		out, err := parent.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		parent.Stderr = os.Stderr
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		var child int
		var dsn string
		if _, err := fmt.Fscan(out, &child, &dsn); err != nil {
			t.Fatal(err)
		}
		if err := parent.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = parent.Wait()
		deadline := time.Now().Add(time.Minute)
		for alive(child) && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		if alive(child) {
			t.Fatalf("the engine %d outlived its parent", child)
		}
	}
	engine, _ := startEngine(t, dir, nil)
	must(t, engine, "SELECT 1")
}

// alive says whether the process runs: a process that has ended and was not yet collected does not.
func alive(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.Contains(text, []byte(") Z "))
}

func TestSecondEngineInTheSameFolderIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, _ := startEngine(t, dir, nil)
	cfg := embedded.DefaultEngineConfig(testbed.Library(t), dir, childCommand())
	cfg.LockTimeout = 200 * time.Millisecond
	second, err := embedded.NewEngine(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = second.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("held by another engine after 200ms (PID: %d", first.PID())) {
		t.Errorf("second engine: got %v, want an error that names %d", err, first.PID())
	}
	must(t, first, "SELECT 1")
}

func TestEngineThatCannotStartSaysWhy(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "libchdb.so")
	if err := os.WriteFile(broken, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	engine, err := embedded.NewEngine(embedded.DefaultEngineConfig(broken, t.TempDir(), childCommand()))
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "load the ClickHouse engine library") {
		t.Errorf("broken library: got %v", err)
	}
}

func closeOrFail(t *testing.T, closer io.Closer) {
	t.Helper()
	if err := closer.Close(); err != nil {
		t.Error(err)
	}
}
