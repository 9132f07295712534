package sql_test

import (
	"os"
	"strings"
	"testing"

	"github.com/AfterShip/clickhouse-sql-parser/parser"

	"github.com/tensortap/tensortap/schemas"
)

// TestTablesOfAClusterParse is all that is known of them: no cluster with Keeper is at hand.
func TestTablesOfAClusterParse(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("cluster/tables.sql")
	if err != nil {
		t.Fatal(err)
	}
	statements, err := parser.NewParser(string(text)).ParseStmts()
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + 2*len(schemas.Tables()); len(statements) != want {
		t.Errorf("%d statements, want %d", len(statements), want)
	}
	if n := strings.Count(string(text), " ON CLUSTER '{cluster}'"); n != len(statements) {
		t.Errorf("%d of %d statements are of all nodes", n, len(statements))
	}
	if !strings.Contains(string(text), "NOT EXECUTED") {
		t.Error("it is not said that nobody executed them")
	}
}
