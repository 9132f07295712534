package store_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	chgo "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/tools/txtar"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/embedded/guard"
	"github.com/tensortap/tensortap/internal/testbed"
	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
)

// TestMain lets the test binary be its own engine, as the real binary is.
func TestMain(m *testing.M) {
	testbed.ServeEngine()
	os.Exit(m.Run())
}

// database is a real engine with all tables and views.
type database struct {
	conn              driver.Conn
	address, password string
	filled            map[string]bool // tables that hold rows
}

func startDatabase(tb testing.TB) *database {
	tb.Helper()
	cfg := testbed.EngineConfig(tb)
	engine, stop := testbed.StartEngine(tb, cfg)
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Errorf("stop the engine: %v", err)
		}
	})
	options, err := chgo.ParseDSN(engine.DSN(guard.Owner))
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := chgo.Open(options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	if err := clickhouse.Migrate(context.Background(), conn, sql.Files); err != nil {
		tb.Fatal(err)
	}
	return &database{conn: conn, address: engine.Address(), password: cfg.Guard.OwnerPassword}
}

// query runs one statement; data, if any, follows it.
func (d *database) query(tb testing.TB, statement, data string, parameters map[string]string) string {
	tb.Helper()
	values := url.Values{"query": {statement}}
	for name, value := range parameters {
		values.Set("param_"+name, value)
	}
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, "http://"+d.address+"/?"+values.Encode(), strings.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	request.SetBasicAuth("owner", d.password)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		tb.Fatalf("%s\n%.500s", body, statement)
	}
	return string(body)
}

// inputs are events as text, of which each test of a view or report takes some.
func inputs(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("../../../sql/testdata/input/*.txtar")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no inputs: %v", err)
	}
	return append(files, "../../../sql/testdata/completeness_report/lost.txtar")
}

// load replaces the content of all tables by the events of a file.
func (d *database) load(tb testing.TB, file string) {
	tb.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	for table := range d.filled {
		d.query(tb, "TRUNCATE TABLE tap_store."+table, "", nil)
	}
	d.filled = map[string]bool{}
	for _, part := range archive.Files {
		if kind, ok := strings.CutSuffix(part.Name, ".tsv"); ok && kind != "want" {
			d.insert(tb, kind, string(part.Data))
		}
	}
}

// insert adds rows in tab-separated text with the names of their columns, in which (run NAME) stands for its id.
func (d *database) insert(tb testing.TB, table, rows string) {
	tb.Helper()
	d.filled[table] = true
	columns, _, _ := strings.Cut(rows, "\n")
	rows = regexp.MustCompile(`\((run|op|site) ([^()]+)\)`).ReplaceAllStringFunc(rows, func(call string) string {
		words := strings.Fields(strings.Trim(call, "()"))
		id := schemas.OpID(words[1])
		if words[0] == "site" {
			id = schemas.SiteID(id, words[2], words[3])
		}
		return strconv.FormatUint(id, 10)
	})
	d.query(tb, "INSERT INTO tap_store."+table+" (`"+strings.ReplaceAll(columns, "\t", "`, `")+"`) FORMAT TabSeparatedWithNames", rows, nil)
}

func (d *database) runs(tb testing.TB) []string {
	tb.Helper()
	return strings.Fields(d.query(tb, "SELECT DISTINCT name FROM tap_store.run ORDER BY name", "", nil))
}

// write stores messages as the consumer does.
func (d *database) write(tb testing.TB, messages []schemas.Message) {
	tb.Helper()
	writer, err := clickhouse.New(clickhouse.DefaultConfig(), d.conn)
	if err != nil {
		tb.Fatal(err)
	}
	byKind := map[string][]schemas.Message{}
	for _, m := range messages {
		byKind[m.Header.Kind] = append(byKind[m.Header.Kind], m)
	}
	for _, same := range byKind {
		if err := writer.Write(tb.Context(), same); err != nil {
			tb.Fatal(err)
		}
	}
}
