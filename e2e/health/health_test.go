package health

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/nats-io/nats.go"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// TestWhatASystemTellsOfItself goes through the life of one system: well, with a fault planted, and killed.
func TestWhatASystemTellsOfItself(t *testing.T) {
	t.Parallel()
	followed := takeTraces(t)
	s := program.Setting{Data: t.TempDir(), Env: followed.environment()}
	u := program.NewUp(s.Data, program.Command(t, s, "up", "--metrics", ":0", "--pprof", "0", "--stream-bytes", "300000000", "--archive-age", "1s"))
	if err := u.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Kill() })
	u.Env = s.Env
	root := told(t, u)
	u.Publish(t, recorded.Unpack(t, "B00_golden_mix"), "good")
	u.Settle(t)
	agent := beside(t, u, "agent", "--nats", u.Endpoint.NATS, "--spool", filepath.Join(t.TempDir(), "spool"))
	judge := beside(t, u, "judge")

	countsAreThoseOfTheStores(t, u, root)
	agentRoot, judgeRoot := told(t, agent), told(t, judge)
	for name, of := range map[string]string{"up": root, "agent": agentRoot, "judge": judgeRoot} {
		isReady(t, name, of)
	}
	promtoolFindsNoFault(t, root)
	metricsAreDocumented(t, root)
	prometheusScrapes(t, root, agentRoot, judgeRoot)
	aBatchIsFollowed(t, u, followed, root)
	doctorFindsWhatIsPlanted(t, u, root)
	unjudgedIsTold(t, u)
	killedIsTold(t, u, agentRoot, judgeRoot)
}

func isReady(t *testing.T, name, root string) {
	t.Helper()
	err := await(name+" to be ready", func() bool {
		status, _ := page(t, root+"/readyz")
		return status == http.StatusOK
	})
	if err != nil {
		_, text := page(t, root+"/readyz")
		t.Errorf("%v: %s", err, text)
	}
}

// beside is another process of the system that tells its metrics.
func beside(tb testing.TB, u *program.Up, args ...string) *program.Up {
	tb.Helper()
	p := program.NewUp(u.Data, program.Command(tb, u.Setting, append(args, "--metrics", ":0")...))
	if err := p.Begin(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Kill() })
	return p
}

func countsAreThoseOfTheStores(t *testing.T, u *program.Up, root string) {
	t.Helper()
	js := program.ConnectStream(t, u.Endpoint.NATS)
	stream, err := js.Stream(t.Context(), "TAP")
	if err != nil {
		t.Fatal(err)
	}
	messages := strconv.FormatUint(stream.CachedInfo().State.Msgs, 10)
	wanted := map[string]string{
		`tensortap_stream_messages{stream="TAP"}`:                         messages,
		`tensortap_stream_published_messages_total{stream="TAP"}`:         messages,
		`tensortap_stream_messages{stream="TAP_DEAD"}`:                    "0",
		`tensortap_stream_limit_bytes{stream="TAP"}`:                      "3e+08",
		`tensortap_tables_messages_total`:                                 messages,
		`tensortap_delivery_stored_messages_total{consumer="parquet"}`:    messages,
		`tensortap_table_rows{table="tensor"}`:                            u.Query(t, "SELECT count() FROM tap_store.tensor")[0][0],
		`tensortap_consumer_lag_seconds{consumer="clickhouse"}`:           "0",
		`tensortap_delivery_dead_letters_total{consumer="clickhouse"}`:    "0",
		`tensortap_delivery_held_bytes{consumer="clickhouse"}`:            "0",
		`tensortap_server_up{server="database"}`:                          "1",
		`tensortap_agent_processes`:                                       "0",
		`tensortap_judge_comparisons`:                                     "0",
		`tensortap_delivery_stored_messages_total{consumer="clickhouse"}`: messages,
		`tensortap_consumer_lag_messages{consumer="parquet"}`:             "0",
	}
	var n map[string]string
	var wrong []string
	err = await("the counts", func() bool { // each is made at a moment of its own
		n = numbers(t, root)
		wanted[`tensortap_store_write_seconds_bucket{consumer="clickhouse",le="+Inf"}`] = n[`tensortap_delivery_writes_total{consumer="clickhouse"}`]
		wrong = unlike(n, wanted)
		return len(wrong) == 0
	})
	if err != nil {
		t.Fatalf("%v: %s", err, strings.Join(wrong, "; "))
	}
	const most = 1500
	if len(n) > most {
		t.Errorf("%d series, want at most %d: labels are bounded", len(n), most)
	}
}

// unlike is which numbers are not as they are wanted.
func unlike(have, want map[string]string) (wrong []string) {
	for name, number := range want {
		if have[name] != number {
			wrong = append(wrong, fmt.Sprintf("%s is %q, want %q", name, have[name], number))
		}
	}
	return wrong
}

func promtoolFindsNoFault(t *testing.T, root string) {
	t.Helper()
	promtool := tool(t, "promtool")
	_, text := page(t, root+"/metrics")
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics") //nolint:gosec // Debian's
	cmd.Stdin = strings.NewReader(text)
	if said, err := cmd.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, said)
	}
}

func doctorFindsWhatIsPlanted(t *testing.T, u *program.Up, root string) {
	t.Helper()
	_, parts := doctor(t, u.Setting)
	delete(parts, "disk") // that of whoever runs the test
	if text := wrong(parts); text != "" {
		t.Errorf("of a system that is well the doctor says\n%s", text)
	}
	for _, part := range []string{"engine", "folder", "agent", "system", "stream", "consumer clickhouse", "consumer parquet", "dead letters", "clocks", "database", "tables", "parts", "judges"} {
		if len(parts[part]) == 0 {
			t.Errorf("the doctor does not look at %s", part)
		}
	}
	js := program.ConnectStream(t, u.Endpoint.NATS)
	if _, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: "tap.tensor.0.0", Data: []byte("no message of ours")}); err != nil {
		t.Fatal(err)
	}
	err := await("the dead letters", func() bool {
		return numbers(t, root)[`tensortap_stream_messages{stream="TAP_DEAD"}`] == "2" // of either consumer
	})
	if err != nil {
		t.Fatal(err)
	}
	status, parts := doctor(t, u.Setting)
	if found := parts["dead letters"]; status != program.ExitDiffers || len(found) != 1 || found[0].State != "wrong" || found[0].Text != "2 messages could not be stored" || !strings.Contains(found[0].Remedy, "report dead-letters") {
		t.Errorf("status %d, %+v, want the dead letters", status, found)
	}
	out := program.Run(t, u.Setting, "doctor")
	if out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, "WRONG    dead letters: 2 messages could not be stored\n         to do: ") {
		t.Errorf("doctor: %v", out)
	}
}

// unjudgedIsTold plants a comparison that no judge can judge: it says of itself that it rests on what is no longer so.
func unjudgedIsTold(t *testing.T, u *program.Up) {
	t.Helper()
	options, err := clickhouse.ParseDSN(u.Endpoint.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	database, err := clickhouse.Open(options)
	if err != nil {
		t.Fatal(err)
	}
	defer database.Close() //nolint:errcheck // nothing is under way
	const another = "INSERT INTO tap_store.declared_comparison SELECT * REPLACE (toUInt64(1) AS comparison_id) FROM tap_store.declared_comparison WHERE standing = 1 LIMIT 1"
	if err := database.Exec(t.Context(), another); err != nil {
		t.Fatal(err)
	}
	var parts map[string][]finding
	err = await("the doctor to miss a verdict", func() bool {
		_, parts = doctor(t, u.Setting)
		return strings.Contains(wrong(map[string][]finding{"judges": parts["judges"]}), "of run followed against good, ")
	})
	if err != nil {
		t.Errorf("%v: %s", err, wrong(parts))
	}
}

func killedIsTold(t *testing.T, u *program.Up, agent, judge string) {
	t.Helper()
	if err := u.Kill(); err != nil {
		t.Fatal(err)
	}
	err := await("the agent to miss the stream", func() bool {
		status, text := page(t, agent+"/readyz")
		return status == http.StatusServiceUnavailable && strings.HasPrefix(text, "the stream does not answer: ")
	})
	if err != nil {
		t.Error(err)
	}
	owner, err := url.Parse(u.Endpoint.ClickHouse)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := owner.User.Password()
	if status, text := page(t, judge+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(text, "the database does not answer: ") || strings.Contains(text, password) {
		t.Errorf("/readyz of a judge without database: %d %s; want no password", status, text)
	}
	if status, text := page(t, agent+"/healthz"); status != http.StatusOK {
		t.Errorf("/healthz of an agent without stream: %d %s", status, text)
	}
	status, parts := doctor(t, u.Setting)
	if found := parts["system"]; len(found) != 1 || found[0].State != "unknown" || status == program.ExitSame {
		t.Errorf("status %d, %+v, want that no system runs", status, found)
	}
}

func TestFlagsOfHealthThatAreWrong(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"up --metrics 9464":            "want HOST:PORT, or :PORT for this machine alone",
		"agent --pprof 127.0.0.1:6060": "want a port, 0 to 65535",
		"doctor --output csv":          "want text or json",
	} {
		out := program.Run(t, program.Setting{Data: t.TempDir()}, strings.Fields(line)...)
		if out.Status != program.ExitError || !strings.Contains(out.Stderr, want) {
			t.Errorf("%s: %v, want %q", line, out, want)
		}
	}
	out := program.Run(t, program.Setting{Data: t.TempDir(), Env: []string{"TENSORTAP_METRICS=nowhere"}}, "up")
	if out.Status != program.ExitError || !strings.Contains(out.Stderr, `--metrics "nowhere"`) {
		t.Errorf("TENSORTAP_METRICS: %v", out)
	}
}

func TestTheDoctorNeedsNothing(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	if err := os.Chmod(data, 0o700); err != nil { //nolint:gosec // a folder
		t.Fatal(err)
	}
	status, parts := doctor(t, program.Setting{Data: data})
	delete(parts, "disk")
	if text := wrong(parts); status == program.ExitSame || !strings.HasPrefix(text, "unknown system: no system runs on "+data) || strings.Contains(text, "\n") {
		t.Errorf("status %d, %s; want that no system runs, and nothing else", status, text)
	}
	if entries, err := os.ReadDir(data); err != nil || len(entries) != 0 {
		t.Errorf("the doctor left %v, %v", entries, err)
	}
}
