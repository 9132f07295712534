package schemas

import (
	"strings"
	"testing"
)

func TestEveryColumnNamesItsUnit(t *testing.T) {
	t.Parallel()
	for _, table := range Tables() {
		for _, c := range table.Columns {
			if !nameFitsUnit(c) {
				t.Errorf("%s.%s: the name does not say its unit", table.Name, c.Name)
			}
			if !strings.HasSuffix(c.Doc, ".") || strings.Contains(c.Doc, "\n") {
				t.Errorf("%s.%s: doc %q is not one line that ends with a full stop", table.Name, c.Name, c.Doc)
			}
		}
	}
}

func nameFitsUnit(c Column) bool {
	suffixes := map[Unit]string{Count: "_count", Bytes: "_bytes", Nanoseconds: "_ns"}
	for unit, suffix := range suffixes {
		if (c.Unit == unit) != strings.HasSuffix(c.Name, suffix) {
			return false
		}
	}
	return (c.Unit == Value) == strings.HasPrefix(c.Name, "value_")
}

func TestNamesDoNotClashWithLiterals(t *testing.T) {
	t.Parallel()
	for _, table := range Tables() {
		for _, c := range table.Columns {
			switch c.Name {
			case "max", "min", "nan", "inf", "null", "true", "false":
				t.Errorf("%s.%s clashes with a function or literal of ClickHouse", table.Name, c.Name)
			}
		}
	}
}

func TestKeysAndIdentityAreColumns(t *testing.T) {
	t.Parallel()
	for _, table := range Tables() {
		for _, key := range table.Key {
			if table.Column(key) < 0 {
				t.Errorf("%s: key %s is no column", table.Name, key)
			}
		}
		if table.Class != Measurement {
			continue
		}
		for i, c := range identityColumns() {
			if table.Columns[i] != c {
				t.Errorf("%s: column %d is %s, want %s of the identity", table.Name, i, table.Columns[i].Name, c.Name)
			}
		}
	}
}

func TestKindsAreKnownByName(t *testing.T) {
	t.Parallel()
	for _, table := range Tables() {
		found, ok := TableByKind(table.Kind())
		if !ok || found.Name != table.Name {
			t.Errorf("TableByKind(%q) = %q, %v", table.Kind(), found.Name, ok)
		}
	}
	if _, ok := TableByKind("no such kind"); ok {
		t.Error("an unknown kind was found")
	}
	if got := (Table{Name: "tensor", Version: 2}).Kind(); got != "tensor_v2" {
		t.Errorf("kind of version 2 = %q, want tensor_v2", got)
	}
}

func TestOnlyColumnsOfFixedWidthAreNullable(t *testing.T) {
	t.Parallel()
	for _, table := range Tables() {
		for _, c := range table.Columns {
			if c.Nullable && c.Type.width() == 0 {
				t.Errorf("%s.%s: a nullable %d column has no encoding", table.Name, c.Name, c.Type)
			}
		}
	}
}
