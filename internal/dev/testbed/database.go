package testbed

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	chgo "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"golang.org/x/tools/txtar"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/embedded/guard"
	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
)

// Database is a real engine with all tables and views.
type Database struct {
	Conn              driver.Conn
	ReaderDSN         string // of the user who only reads
	address, password string
	filled            map[string]bool // tables that hold rows
}

// StartDatabase runs an engine until the test ends.
func StartDatabase(tb testing.TB) *Database {
	tb.Helper()
	cfg := EngineConfig(tb)
	engine, stop := StartEngine(tb, cfg)
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
	return &Database{Conn: conn, ReaderDSN: engine.DSN(guard.Reader), address: engine.Address(), password: cfg.Guard.OwnerPassword}
}

// Query runs one statement; data, if any, follows it.
func (d *Database) Query(tb testing.TB, statement, data string, parameters map[string]string) string {
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

// Load replaces the content of all tables by the events of a file.
func (d *Database) Load(tb testing.TB, file string) {
	tb.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	d.Empty(tb)
	for _, part := range archive.Files {
		if kind, ok := strings.CutSuffix(part.Name, ".tsv"); ok && kind != "want" {
			d.Insert(tb, kind, string(part.Data))
		}
	}
}

// Insert adds rows in tab-separated text with the names of their columns; ids are as ExpandIDs takes them.
func (d *Database) Insert(tb testing.TB, table, rows string) {
	tb.Helper()
	d.fill(table)
	columns, _, _ := strings.Cut(rows, "\n")
	d.Query(tb, "INSERT INTO tap_store."+table+" (`"+strings.ReplaceAll(columns, "\t", "`, `")+"`) FORMAT TabSeparatedWithNames",
		ExpandIDs(rows), nil)
}

func (d *Database) fill(table string) {
	if d.filled == nil {
		d.filled = map[string]bool{}
	}
	d.filled[table] = true
}

// Empty removes all rows that were inserted or written.
func (d *Database) Empty(tb testing.TB) {
	tb.Helper()
	for table := range d.filled {
		d.Query(tb, "TRUNCATE TABLE tap_store."+table, "", nil)
	}
	d.filled = nil
}

// ExpandIDs writes the ids for (run NAME), (op NAME) and (site OP ROLE PATH).
func ExpandIDs(rows string) string {
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

// Write stores messages as the consumer does.
func (d *Database) Write(tb testing.TB, messages []schemas.Message) {
	tb.Helper()
	writer, err := clickhouse.New(clickhouse.DefaultConfig(), d.Conn)
	if err != nil {
		tb.Fatal(err)
	}
	byKind := map[string][]schemas.Message{}
	for _, m := range messages {
		byKind[m.Header.Kind] = append(byKind[m.Header.Kind], m)
	}
	for kind, same := range byKind {
		d.fill(kind)
		if err := writer.Write(tb.Context(), same); err != nil {
			tb.Fatal(err)
		}
	}
}
