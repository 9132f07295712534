package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/recorded"
	"github.com/tensortap/tensortap/internal/testbed"
	"github.com/tensortap/tensortap/sql"
)

// parseCSV reads CSV with its header.
func parseCSV(tb testing.TB, text string) [][]string {
	tb.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		tb.Fatalf("read CSV: %v in %s", err, text)
	}
	return rows
}

// commands lists all commands that a user sees, below root.
func commands(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if !c.Hidden && c.Name() != "help" && c.Name() != "completion" {
			all = append(all, commands(c)...)
		}
	}
	return all
}

func noEnvironment(string) string { return "" }

func TestEveryCommandHasHelpWithExamplesThatParse(t *testing.T) {
	t.Parallel()
	all := commands(newRoot(io.Discard, io.Discard, noEnvironment))
	if len(all) < 15 {
		t.Fatalf("%d commands", len(all))
	}
	for _, c := range all {
		path := strings.Fields(c.CommandPath())[1:]
		var stdout, stderr strings.Builder
		status := run(t.Context(), append(path, "--help"), &stdout, &stderr, noEnvironment)
		if status != 0 || stderr.Len() > 0 || !strings.Contains(stdout.String(), "Usage:") || !strings.Contains(stdout.String(), "Examples:") {
			t.Errorf("%s --help: status %d\n%s%s", c.CommandPath(), status, stdout.String(), stderr.String())
		}
		if c.Short == "" {
			t.Errorf("%s does not say what it is for", c.CommandPath())
		}
		for line := range strings.Lines(c.Example) {
			checkExample(t, strings.TrimSpace(line))
		}
	}
}

// checkExample checks that a command line names a command and only flags that it has.
func checkExample(t *testing.T, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, "   ") // an explanation
	words := shellWords(line)
	if len(words) < 2 || words[0] != "tensortap" {
		t.Errorf("example %q is no command line", line)
		return
	}
	c, rest, err := newRoot(io.Discard, io.Discard, noEnvironment).Find(words[1:])
	if err != nil {
		t.Errorf("example %q: %v", line, err)
		return
	}
	if err := c.ParseFlags(rest); err != nil {
		t.Errorf("example %q: %v", line, err)
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		t.Errorf("example %q: %v", line, err)
	}
	if err := c.ValidateRequiredFlags(); err != nil {
		t.Errorf("example %q: %v", line, err)
	}
}

// shellWords splits a line as a shell does, as far as the examples need it.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

func TestReportsTakeTheirFlagsFromTheirSQL(t *testing.T) {
	t.Parallel()
	reports, err := sql.Reports()
	if err != nil || len(reports) < 6 {
		t.Fatalf("%d reports, %v", len(reports), err)
	}
	for _, r := range reports {
		name := strings.ReplaceAll(r.Name, "_", "-")
		c, _, err := newRoot(io.Discard, io.Discard, noEnvironment).Find([]string{"report", name})
		if err != nil || c.Name() != name {
			t.Errorf("report %s: no command, %v", r.Name, err)
			continue
		}
		for _, p := range r.Parameters {
			f := c.Flags().Lookup(strings.ReplaceAll(p.Name, "_", "-"))
			if f == nil || f.DefValue != p.Default || f.Usage != p.Doc || (f.Annotations[cobra.BashCompOneRequiredFlag] != nil) != p.Required {
				t.Errorf("report %s: flag %+v of parameter %+v", r.Name, f, p)
			}
		}
		if c.Flags().Lookup("output") == nil || !strings.EqualFold(c.Short, r.Question) {
			t.Errorf("report %s: %q asks %q", r.Name, c.Short, r.Question)
		}
	}
}

func TestShellsComplete(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out := inside(t, setting{}, "completion", shell)
		if out.status != 0 || out.stderr != "" || !strings.Contains(out.stdout, "tensortap") {
			t.Errorf("completion %s: %.200s", shell, out)
		}
		path, err := exec.LookPath(shell)
		if err != nil || shell == "powershell" {
			continue
		}
		script := filepath.Join(t.TempDir(), "completion")
		if err := os.WriteFile(script, []byte(out.stdout), 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := exec.CommandContext(t.Context(), path, "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s does not parse its completion: %v %s", shell, err, text)
		}
	}
	for typed, want := range map[string]string{
		"__complete report div":                   "divergence\t",
		"__complete report divergence --prob":     "--problem\t",
		"__complete compare a b --output ":        "parquet",
		"__complete report overflow --output arr": "arrow",
		"__complete pub":                          "publish\t",
	} {
		if out := inside(t, setting{}, strings.Split(typed, " ")...); out.status != 0 || !strings.Contains(out.stdout, want) {
			t.Errorf("%s: %v, want %q", typed, out, want)
		}
	}
}

func TestWrongCommandLinesAreErrors(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"nope":                                 `unknown command "nope"`,
		"publish nope":                         `unknown command "nope"`,
		"report nope":                          `unknown command "nope"`,
		"engine nope":                          `unknown command "nope"`,
		"--nope":                               "unknown flag: --nope",
		"runs --nope":                          "unknown flag: --nope",
		"runs more":                            `unknown command "more"`,
		"up more":                              `unknown command "more"`,
		"version more":                         `unknown command "more"`,
		"query":                                "1 arg",
		"query a b":                            "1 arg",
		"publish msprobe":                      "1 arg",
		"publish msprobe dir":                  `"run" not set`,
		"report divergence --problem a":        `"bench" not set`,
		"runs --output xml":                    "text, json, csv, arrow, parquet",
		"query q --output xml":                 "text, json, csv, arrow, parquet",
		"report completeness --run a -o xml":   "text, json, csv, arrow, parquet",
		"runs --limit many":                    "--limit",
		"up --archive-age soon":                "--archive-age",
		"publish msprobe d --run a --label b":  "name=value",
		"publish msprobe d --run a --label =b": "name=value",
		"runs":                                 "no system is running",
	} {
		out := inside(t, setting{}, strings.Fields(line)...)
		if out.status != 2 || out.stdout != "" || !strings.HasPrefix(out.stderr, "tensortap: ") || !strings.Contains(out.stderr, want) {
			t.Errorf("%s: %v, want status 2 and %q", line, out, want)
		}
	}
	if out := inside(t, setting{}); out.status != 0 || !strings.Contains(out.stdout, "Available Commands:") {
		t.Errorf("no command: %v", out)
	}
}

func TestVersionNamesTheEngineToo(t *testing.T) {
	t.Parallel()
	out := process(t, setting{}, "version")
	if out.status != 0 || !strings.HasPrefix(out.stdout, "tensortap dev (go") || !strings.Contains(out.stdout, "ClickHouse engine 26.") || out.stderr != "" {
		t.Error(out)
	}
}

func TestASecondSystemSaysWhoHoldsTheFolder(t *testing.T) {
	t.Parallel()
	u := shared(t)
	holder := fmt.Sprintf("process %d", u.cmd.Process.Pid)
	for _, command := range []string{"up", "replay"} {
		out := process(t, u.setting, command)
		if out.status != 2 || out.stdout != "" || !strings.Contains(out.stderr, holder) || !strings.Contains(out.stderr, u.data) {
			t.Errorf("%s: %v, want status 2 and %q", command, out, holder)
		}
	}
	u.query(t, "SELECT 1") // the first is none the worse
}

func TestUpSaysWhereEverythingListensOnThisMachineOnly(t *testing.T) {
	t.Parallel()
	u := shared(t)
	text := u.stdout.String()
	for name, address := range map[string]string{"stream": u.endpoint.NATS, "clickhouse": u.endpoint.ClickHouse, "reader": u.endpoint.Reader} {
		parsed, err := url.Parse(address)
		if err != nil || !net.ParseIP(parsed.Hostname()).IsLoopback() || !strings.Contains(text, parsed.Host) {
			t.Errorf("%s listens at %s; up says\n%s", name, address, text)
		}
	}
	owner, _ := url.Parse(u.endpoint.ClickHouse)
	secret, _ := owner.User.Password()
	if secret == "" || strings.Contains(text, secret) {
		t.Errorf("up shows the owner's password %q in\n%s", secret, text)
	}
	for _, part := range []string{u.data, u.endpoint.Archive, "until Ctrl-C", "tensortap publish msprobe DIR --run NAME"} {
		if !strings.Contains(text, part) {
			t.Errorf("up says\n%s\nwant %q in it", text, part)
		}
	}
	listening := listeners(t, u.cmd.Process.Pid)
	if len(listening) < 2 {
		t.Errorf("%d sockets listen, want NATS and the guard", len(listening))
	}
	for _, address := range listening {
		if !strings.HasPrefix(address, "0100007F:") && !strings.HasPrefix(address, "00000000000000000000000001000000:") {
			t.Errorf("something listens at %s, which is not loopback", address)
		}
	}
	info, err := os.Stat(filepath.Join(u.data, "endpoint.json"))
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
			found = append(found, number(tb, word))
		}
	}
	return found
}

func TestQueryCanOnlyRead(t *testing.T) {
	t.Parallel()
	u := shared(t)
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
		out := inside(t, u.setting, "query", statement)
		if out.status != 2 || out.stdout != "" || !strings.HasPrefix(out.stderr, "tensortap: ") {
			t.Errorf("query %q: %v, want status 2 and only an error", statement, out)
		}
	}
	if rows := u.query(t, "SELECT count() FROM system.tables WHERE database = 'default'"); rows[0][0] != "0" {
		t.Errorf("%s tables in default", rows[0][0])
	}
}

func TestNothingIsShownAsNothing(t *testing.T) {
	t.Parallel()
	u := shared(t)
	for format, want := range map[string]string{
		"json": "{\"rows\":[\n{\"a\":null,\"b\":null,\"c\":\"\"}\n]}\n", "csv": "a,b,c\n,,\n", "text": "a  b  c\n-  -\n",
	} {
		out := inside(t, u.setting, "query", "SELECT NULL AS a, CAST(NULL AS Nullable(String)) AS b, '' AS c", "--output", format)
		if out.status != 0 || out.stdout != want {
			t.Errorf("query --output %s: %q, want %q", format, out.stdout, want)
		}
	}
}

func TestOutputIsPlainUnlessAPersonReadsIt(t *testing.T) {
	t.Parallel()
	u := publishOnce(t, "B02_weight_mix", "B00_golden_mix")
	args := []string{"compare", "B02_weight_mix", "B00_golden_mix"}
	if out := process(t, u.setting, args...); strings.Contains(out.stdout+out.stderr, "\x1b") {
		t.Errorf("colours in a pipe: %v", out)
	}
	if text := onTerminal(t, u.setting, args...); !strings.Contains(text, "\x1b[31mDIFFERS") {
		t.Errorf("no colours on a terminal: %q", text)
	}
	plain := u.setting
	plain.env = []string{"NO_COLOR=1"}
	if text := onTerminal(t, plain, args...); strings.Contains(text, "\x1b") || !strings.Contains(text, "DIFFERS") {
		t.Errorf("colours in spite of NO_COLOR: %q", text)
	}
}

// onTerminal runs a command whose output is a terminal and returns what that was sent.
func onTerminal(tb testing.TB, s setting, args ...string) string {
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
	cmd := command(tb, s, args...)
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
	u := publishOnce(t, "B02_weight_mix", "B00_golden_mix")
	temporary := setting{env: []string{"TMPDIR=" + t.TempDir()}}
	problem, bench := recorded.Unpack(t, "B02_weight_mix"), recorded.Unpack(t, "B00_golden_mix")
	for _, c := range []struct {
		at   setting
		args []string
	}{
		{u.setting, []string{"query", "SELECT number, repeat('x', 100) FROM numbers(300000)", "--output", "csv"}},
		{u.setting, []string{"query", "SELECT number, repeat('x', 100) FROM numbers(100000)"}},
		{u.setting, []string{"compare", "B02_weight_mix", "B00_golden_mix", "--output", "json"}},
		{u.setting, []string{"publish", "msprobe", problem, "--run", "closed pipe"}},
		{temporary, []string{"compare", problem, bench, "--output", "csv"}},
		{temporary, []string{"version"}},
	} {
		out := intoClosedPipe(t, c.at, c.args...)
		if out.status < 0 || out.status > 2 || strings.Contains(out.stderr, "goroutine") || strings.Contains(out.stderr, "panic") {
			t.Errorf("%s: %v", c.args[0], out)
		}
	}
	temporary.leavesNothing(t)
}

func intoClosedPipe(tb testing.TB, s setting, args ...string) outcome {
	tb.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	var stderr strings.Builder
	cmd := command(tb, s, args...)
	cmd.Stdout, cmd.Stderr = write, &stderr
	if err := read.Close(); err != nil {
		tb.Fatal(err)
	}
	begin := time.Now()
	_ = cmd.Run()
	_ = write.Close()
	if took := time.Since(begin); took > 30*time.Second {
		tb.Errorf("%s took %v", args[0], took)
	}
	return outcome{cmd.ProcessState.ExitCode(), "", stderr.String()}
}

func TestADumpThatWasCutShortSaysSoEverywhere(t *testing.T) {
	t.Parallel()
	u := publishOnce(t, "B00_golden_mix")
	dir := recorded.Unpack(t, "B00_golden_mix")
	path := filepath.Join(dir, "step1", "rank0", "dump.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(text)/2)); err != nil {
		t.Fatal(err)
	}
	out := u.publish(t, dir, "cut short")
	lastOp := text[:len(text)/2]
	for _, part := range []string{"warning: " + path + " at byte ", `, op "`, "ends inside"} {
		if !strings.Contains(out.stderr, part) {
			t.Errorf("publish: %v, want %q", out, part)
		}
	}
	if _, op, _ := strings.Cut(out.stderr, `op "`); !strings.Contains(string(lastOp), op[:strings.Index(op, `"`)+1]) {
		t.Errorf("publish names an op that is not in the file: %v", out)
	}
	u.settle(t)
	rows := u.query(t, "SELECT step, count(), uniqExact(op_id) FROM tap.tensors WHERE run = 'cut short' GROUP BY step ORDER BY step")
	if len(rows) != 2 || rows[0][1] != "1815" || number(t, rows[1][1]) < 700 || number(t, rows[1][1]) > 1200 {
		t.Errorf("steps, rows, ops: %v, want 1815 of step 0 and about half as many of step 1", rows)
	}
	completeness := inside(t, u.setting, "report", "completeness", "--run", "cut short")
	if completeness.status != 0 || !strings.HasPrefix(completeness.stderr, "INCOMPLETE: run cut short rank 0: ") {
		t.Errorf("completeness: %v", completeness)
	}
	compared := inside(t, u.setting, "compare", "cut short", "B00_golden_mix")
	if compared.status != 2 || !strings.HasPrefix(compared.stdout, "INCOMPLETE ") || !strings.Contains(compared.stdout, "UNKNOWN ") {
		t.Errorf("compare: %v, want INCOMPLETE first and status 2", compared)
	}
	folders := process(t, setting{}, "compare", dir, filepath.Join(filepath.Dir(dir), "dump"), "--output", "json")
	if got := parseAnswer(t, folders); folders.status != 2 || got.Incomplete == "" || got.Verdict != "unknown" {
		t.Errorf("compare folders: %v", folders)
	}
}

// hostileTexts are names that something on the way could misread.
func hostileTexts() []string {
	return []string{
		"名前 ü 🔥", `a'b"c\d`, "line\nbreak", "../../etc/passwd", "\x1b[31mred\x1b[0m", "%s {run:String} $(id)", "-x", " ", "tab\there",
		"a,b;c|d", "\u202eright to left", "null", strings.Repeat("x", 200), strings.Repeat("名", 200),
	}
}

func TestHostileNamesOfRunsComeThroughAndSpoilNothing(t *testing.T) {
	t.Parallel()
	u := startUp(t, t.TempDir())
	dir := filepath.Join(recorded.Unpack(t, "D_tp_golden"), "step0")
	for _, name := range hostileTexts() {
		out := u.publish(t, dir, name, "--label", strings.ReplaceAll(name, "=", "-")+"="+name)
		isPlain(t, "publish", out.stdout+out.stderr)
	}
	u.settle(t)
	var runs struct {
		Rows []struct {
			Name   string
			Labels map[string]string
		}
	}
	out := inside(t, u.setting, "runs", "--output", "json")
	if err := json.Unmarshal([]byte(out.stdout), &runs); err != nil || len(runs.Rows) != len(hostileTexts()) {
		t.Fatalf("%d runs, want %d, %v in %v", len(runs.Rows), len(hostileTexts()), err, out)
	}
	for _, r := range runs.Rows {
		if !slices.Contains(hostileTexts(), r.Name) || r.Labels[r.Name] != r.Name {
			t.Errorf("run %q has labels %q", r.Name, r.Labels)
		}
	}
	isPlain(t, "runs", inside(t, u.setting, "runs").stdout)
	if lines := strings.Count(inside(t, u.setting, "runs").stdout, "\n"); lines != len(hostileTexts())+1 {
		t.Errorf("runs has %d lines", lines)
	}
	for sides := range slices.Chunk(hostileTexts(), 2) {
		out := inside(t, u.setting, "compare", "--", sides[0], sides[1])
		if out.status != 0 {
			t.Errorf("compare %q: %v", sides, out)
		}
		isPlain(t, "compare", out.stdout+out.stderr)
		missing := inside(t, u.setting, "compare", "--", sides[0]+"!", sides[1])
		if missing.status != 2 {
			t.Errorf("compare %q: %v", sides[0]+"!", missing)
		}
		isPlain(t, "compare", missing.stderr)
	}
	if _, err := os.Stat(filepath.Join(u.data, "..", "..", "etc")); err == nil {
		t.Error("a name of a run became a path")
	}
}

// isPlain checks that a text does nothing to a terminal.
func isPlain(t *testing.T, what, text string) {
	t.Helper()
	for _, r := range text {
		if r != '\n' && !strconv.IsPrint(r) {
			t.Errorf("%s prints %q in %q", what, r, text)
			return
		}
	}
}

func TestNamesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	u := shared(t)
	dir := recorded.Unpack(t, "B00_golden_L0")
	for name, want := range map[string]string{
		"":                       "1 to 200",
		strings.Repeat("x", 201): "1 to 200",
		strings.Repeat("名", 201): "1 to 200",
		"\xff\xfe":               "UTF-8",
	} {
		out := inside(t, u.setting, "publish", "msprobe", dir, "--run", name)
		if out.status != 2 || out.stdout != "" || !strings.Contains(out.stderr, want) {
			t.Errorf("publish --run %q: %v, want status 2 and %q", name, out, want)
		}
	}
	if out := inside(t, u.setting, "publish", "msprobe", dir, "--run", "bad label", "--label", "a=\xff"); out.status != 2 || !strings.Contains(out.stderr, "UTF-8") {
		t.Errorf("publish --label: %v", out)
	}
	if rows := u.query(t, "SELECT name FROM tap.runs WHERE name IN ('', 'bad label')"); len(rows) > 0 {
		t.Errorf("stored all the same: %v", rows)
	}
}

func TestFoldersOfAnyNameAreCompared(t *testing.T) {
	t.Parallel()
	recorded := recorded.Unpack(t, "B00_golden_L0")
	s := setting{dir: t.TempDir(), env: []string{"TMPDIR=" + t.TempDir()}}
	names := []string{"with space", "it's", "-x", "line\nbreak\x1b[31m", strings.Repeat("deep/"+strings.Repeat("long", 50)+"/", 3), "no\xfftext"}
	for _, name := range names {
		if err := os.CopyFS(filepath.Join(s.dir, name), os.DirFS(recorded)); err != nil {
			t.Fatal(err)
		}
	}
	for sides := range slices.Chunk(names, 2) {
		out := process(t, s, "compare", "--", sides[0], sides[1])
		if out.status != 0 || out.stderr != "" {
			t.Errorf("compare %q: %v", sides, out)
		}
		isPlain(t, "compare", out.stdout)
	}
	s.leavesNothing(t)
}

func TestHostileNamesOfOpsComeThroughExactly(t *testing.T) {
	t.Parallel()
	u := shared(t)
	names := append(hostileTexts(), "pipe|and`tick`", strings.Repeat("long", 25_000))
	for i := range names {
		names[i] = "Functional." + names[i] + ".0.forward"
	}
	problem, bench := writeDump(t, names, 2.5), writeDump(t, names, 1.5)
	u.publish(t, problem, "hostile ops")
	u.publish(t, bench, "hostile ops bench")
	u.settle(t)
	ask := []string{"compare", "hostile ops", "hostile ops bench", "--limit", "100"}
	out := inside(t, u.setting, append(ask, "--output", "json")...)
	var ops []string
	for _, d := range parseAnswer(t, out).Divergence {
		ops = append(ops, d.Op)
	}
	if !slices.Equal(ops, names) {
		t.Errorf("got %d ops %.3000q, want %d %.3000q", len(ops), ops, len(names), names)
	}
	var fromCSV []string
	lines := parseCSV(t, inside(t, u.setting, append(ask, "--output", "csv")...).stdout)
	for _, line := range lines[1:] {
		fromCSV = append(fromCSV, line[slices.Index(lines[0], "op")])
	}
	if !slices.Equal(fromCSV, names) {
		t.Errorf("CSV has %d ops %.3000q", len(fromCSV), fromCSV)
	}
	for _, args := range [][]string{
		ask,
		{"report", "divergence", "--problem", "hostile ops", "--bench", "hostile ops bench", "--limit", "100"},
		{"query", "SELECT name FROM tap.ops WHERE startsWith(name, 'Functional.long')"},
	} {
		text := inside(t, u.setting, args...)
		isPlain(t, args[0], text.stdout+text.stderr)
		for line := range strings.Lines(text.stdout) {
			if len([]rune(line)) > 3000 {
				t.Errorf("%s prints a line of %d characters", args[0], len([]rune(line)))
			}
		}
	}
}

// writeDump writes a dump of ops with one output each, whose maximum is given.
func writeDump(tb testing.TB, names []string, greatest float64) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "step0", "rank0")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		tb.Fatal(err)
	}
	var data []string
	for _, name := range names {
		key, err := json.Marshal(name)
		if err != nil {
			tb.Fatal(err)
		}
		data = append(data, fmt.Sprintf(`%s: {"input_args": [], "input_kwargs": {}, "output": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2],
			"Max": %g, "Min": 0.5, "Mean": 1.0, "Norm": 2.0, "requires_grad": false}]}`, key, greatest))
	}
	text := fmt.Sprintf(`{"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": null, "data": {%s}}`, strings.Join(data, ",\n"))
	if err := os.WriteFile(filepath.Join(dir, "dump.json"), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return filepath.Dir(filepath.Dir(dir))
}
