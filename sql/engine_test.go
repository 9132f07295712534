package sql_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	chgo "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/embedded"
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

// database is a real engine with all tables, views and reports, spoken to as a reader of reports does: in tab-separated
// text, which keeps nan and inf.
type database struct {
	address  string
	password string
	filled   []string // tables that hold rows
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
	migrate(tb, engine)
	d := &database{address: engine.Address(), password: cfg.Guard.OwnerPassword}
	d.query(tb, "SYSTEM STOP VIEW tap_store.trend_fill", "", nil) // what is in its table is up to the cases
	d.query(tb, "SYSTEM STOP MERGES", "", nil)                    // a definition that came twice stays so
	return d
}

func migrate(tb testing.TB, engine *embedded.Engine) {
	tb.Helper()
	options, err := chgo.ParseDSN(engine.DSN(guard.Owner))
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := chgo.Open(options)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := clickhouse.Migrate(context.Background(), conn, sql.Files); err != nil {
		tb.Fatal(err)
	}
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

func (d *database) ask(tb testing.TB, object sql.Object, parameters map[string]string) string {
	tb.Helper()
	return d.query(tb, answer(object)+"\nFORMAT TabSeparatedWithNames", "", parameters)
}

// load replaces the content of all tables.
func (d *database) load(tb testing.TB, tables map[string]string) {
	tb.Helper()
	for _, table := range d.filled {
		d.query(tb, "TRUNCATE TABLE tap_store."+table, "", nil)
	}
	d.filled = nil
	for _, table := range schemas.Tables() {
		rows, found := tables[table.Kind()]
		if !found {
			continue
		}
		d.insert(tb, table.Kind(), rows)
		if table.Class == schemas.Definition {
			d.insert(tb, table.Kind(), withoutFirst(rows))
		}
	}
	if rows, found := tables["trend"]; found {
		d.insert(tb, "trend", rows)
	}
}

// insert adds rows in tab-separated text with the names of their columns.
func (d *database) insert(tb testing.TB, table, rows string) {
	tb.Helper()
	d.filled = append(d.filled, table)
	columns, _, _ := strings.Cut(rows, "\n")
	d.query(tb, "INSERT INTO tap_store."+table+" (`"+strings.ReplaceAll(columns, "\t", "`, `")+"`) FORMAT TabSeparatedWithNames",
		expandIDs(rows), nil)
}

// withoutFirst leaves out the first row: definitions come as often as runs that use them are published, one more often
// than another, and until parts are merged all of them are there.
func withoutFirst(rows string) string {
	columns, rest, _ := strings.Cut(rows, "\n")
	_, rest, _ = strings.Cut(rest, "\n")
	return columns + "\n" + rest
}

// expandIDs writes the ids for (run NAME), (op NAME) and (site OP ROLE PATH).
func expandIDs(rows string) string {
	return regexp.MustCompile(`\((run|op|site) ([^()]+)\)`).ReplaceAllStringFunc(rows, func(call string) string {
		words := strings.Fields(strings.Trim(call, "()"))
		id := schemas.OpID(words[1])
		switch words[0] {
		case "run":
			id = schemas.RunID(words[1])
		case "site":
			id = schemas.SiteID(id, words[2], words[3])
		}
		return strconv.FormatUint(id, 10)
	})
}
