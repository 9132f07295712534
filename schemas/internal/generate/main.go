// Command generate writes files derived from the tables of schemas: Go rows, ClickHouse tables, the
// layout of the spool and the reference. Run it by `make generate`.
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"os"
	"path/filepath"

	"github.com/tensortap/tensortap/schemas"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run writes all files under the root of the repository.
func run(root string) error {
	rows, err := format.Source(goRows(schemas.Tables()))
	if err != nil {
		return fmt.Errorf("format rows: %w", err)
	}
	spool, err := format.Source(spoolGo())
	if err != nil {
		return fmt.Errorf("format records of the spool: %w", err)
	}
	files := map[string][]byte{
		"schemas/rows_gen.go":                            rows,
		"schemas/spool_gen.go":                           spool,
		"schemas/README.md":                              reference(schemas.Tables()),
		"sql/cluster/tables.sql":                         clusterTables(schemas.Tables()),
		"producers/torch/src/tensortap/_spool/layout.py": spoolPython(),
		"producers/torch/csrc/layout.h":                  spoolC(),
	}
	for i, t := range schemas.Tables() {
		files[fmt.Sprintf("sql/tables/%03d_%s.sql", migration(i), t.Kind())] = createTable(t)
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
			continue
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// migration is the number of a table's file. Files are applied in this order and never renamed. Some numbers belong
// to files written by hand.
func migration(table int) int {
	number := table + 1
	for _, byHand := range []int{18, 33, 39, 40, 41, 44} {
		if number >= byHand {
			number++
		}
	}
	return number
}
