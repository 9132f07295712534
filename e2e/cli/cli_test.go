package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

func TestVersionNamesTheEngineToo(t *testing.T) {
	t.Parallel()
	out := program.Run(t, program.Setting{}, "version")
	if out.Status != 0 || !strings.HasPrefix(out.Stdout, "tensortap dev (go") || !strings.Contains(out.Stdout, "ClickHouse engine 26.") || out.Stderr != "" {
		t.Error(out)
	}
}

func TestQueryCanOnlyRead(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	for _, statement := range []string{
		"INSERT INTO tap_store.run (name) VALUES ('x')",
		"DROP TABLE tap_store.run",
		"TRUNCATE TABLE tap_store.tensor",
		"ALTER TABLE tap_store.tensor DELETE WHERE 1",
		"OPTIMIZE TABLE tap_store.tensor FINAL",
		"CREATE TABLE default.x (a Int8) ENGINE = Memory",
		"CREATE VIEW tap.x AS SELECT 1",
		"CREATE USER x",
		"GRANT ALL ON *.* TO reader",
		"SYSTEM SHUTDOWN",
		"SET readonly = 0",
		"SELECT 1 SETTINGS readonly = 0",
		"SELECT 1; DROP TABLE tap_store.run",
		"INSERT INTO FUNCTION file('x.csv') SELECT 1",
		"SELECT count() FROM file('/etc/passwd', 'LineAsString')",
		"SELECT count() FROM url('http://127.0.0.1:1/x', 'LineAsString')",
		"SELECT count() FROM executable('id', 'LineAsString', 'a String')",
		"SELECT 1 INTO OUTFILE '/tmp/x'",
		"SELECT",
		"",
	} {
		out := program.Run(t, u.Setting, "query", statement)
		if out.Status != 2 || out.Stdout != "" || !strings.HasPrefix(out.Stderr, "tensortap: ") {
			t.Errorf("query %q: %v, want status 2 and only an error", statement, out)
		}
	}
	if rows := u.Query(t, "SELECT count() FROM system.tables WHERE database = 'default'"); rows[0][0] != "0" {
		t.Errorf("%s tables in default", rows[0][0])
	}
}

func TestNothingIsShownAsNothing(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	for format, want := range map[string]string{
		"json": "{\"rows\":[\n{\"a\":null,\"b\":null,\"c\":\"\"}\n]}\n", "csv": "a,b,c\n,,\n", "text": "a  b  c\n-  -\n",
	} {
		out := program.Run(t, u.Setting, "query", "SELECT NULL AS a, CAST(NULL AS Nullable(String)) AS b, '' AS c", "--output", format)
		if out.Status != 0 || out.Stdout != want {
			t.Errorf("query --output %s: %q, want %q", format, out.Stdout, want)
		}
	}
}

func TestOutputIsPlainUnlessAPersonReadsIt(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B02_weight_mix", "B00_golden_mix")
	args := []string{"compare", "B02_weight_mix", "B00_golden_mix"}
	if out := program.Run(t, u.Setting, args...); strings.Contains(out.Stdout+out.Stderr, "\x1b") {
		t.Errorf("colours in a pipe: %v", out)
	}
	if text := onTerminal(t, u.Setting, args...); !strings.Contains(text, "\x1b[31mDIFFERS") {
		t.Errorf("no colours on a terminal: %q", text)
	}
	plain := u.Setting
	plain.Env = []string{"NO_COLOR=1"}
	if text := onTerminal(t, plain, args...); strings.Contains(text, "\x1b") || !strings.Contains(text, "DIFFERS") {
		t.Errorf("colours in spite of NO_COLOR: %q", text)
	}
}

// onTerminal runs a command whose output is a terminal and returns what that was sent.
func onTerminal(tb testing.TB, s program.Setting, args ...string) string {
	tb.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		testbed.Needed(tb, "no terminals: "+err.Error())
	}
	defer master.Close() //nolint:errcheck // nothing is written
	var unlock, slave int32
	for request, value := range map[uintptr]*int32{syscall.TIOCSPTLCK: &unlock, syscall.TIOCGPTN: &slave} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			tb.Fatal(errno)
		}
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", slave), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	cmd := program.Command(tb, s, args...)
	cmd.Stdout, cmd.Stderr = terminal, terminal
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	_ = terminal.Close()
	text, _ := io.ReadAll(master) // ends with EIO when nobody holds the terminal any more
	_ = cmd.Wait()
	return string(text)
}

func TestAClosedPipeEndsACommandWell(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B02_weight_mix", "B00_golden_mix")
	temporary := program.Setting{Env: []string{"TMPDIR=" + t.TempDir()}}
	problem, bench := recorded.Unpack(t, "B02_weight_mix"), recorded.Unpack(t, "B00_golden_mix")
	for _, c := range []struct {
		at   program.Setting
		args []string
	}{
		{u.Setting, []string{"query", "SELECT number, repeat('x', 100) FROM numbers(300000)", "--output", "csv"}},
		{u.Setting, []string{"query", "SELECT number, repeat('x', 100) FROM numbers(100000)"}},
		{u.Setting, []string{"compare", "B02_weight_mix", "B00_golden_mix", "--output", "json"}},
		{u.Setting, []string{"publish", "msprobe", problem, "--run", "closed pipe"}},
		{temporary, []string{"compare", problem, bench, "--output", "csv"}},
		{temporary, []string{"version"}},
	} {
		out := intoClosedPipe(t, c.at, c.args...)
		if out.Status < 0 || out.Status > 2 || strings.Contains(out.Stderr, "goroutine") || strings.Contains(out.Stderr, "panic") {
			t.Errorf("%s: %v", c.args[0], out)
		}
	}
	program.LeavesNothing(t, temporary)
}

func intoClosedPipe(tb testing.TB, s program.Setting, args ...string) program.Outcome {
	tb.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	var stderr strings.Builder
	cmd := program.Command(tb, s, args...)
	cmd.Stdout, cmd.Stderr = write, &stderr
	if err := read.Close(); err != nil {
		tb.Fatal(err)
	}
	begin := time.Now()
	_ = cmd.Run()
	_ = write.Close()
	if took := time.Since(begin); took > 2*time.Minute {
		tb.Errorf("%s took %v", args[0], took)
	}
	return program.Outcome{Status: cmd.ProcessState.ExitCode(), Stdout: "", Stderr: stderr.String()}
}
