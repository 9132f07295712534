package clickhouse

import (
	"bytes"
	"testing"

	"github.com/tensortap/tensortap/schemas"
)

// LedgerSQL has the queries by which a Writer looks up batches.
func LedgerSQL(name, producers string) []string {
	t := &table{name: name}
	return []string{t.countsSQL(producers, 0, 1000), t.intervalsSQL(producers)}
}

// IDTaken says whether the server refused a query for its id, so that it can be asked again.
func IDTaken(err error) bool { return idTaken(err) }

// IntoSQL is the INSERT of a writer behind the fence.
func IntoSQL(f Fence, kind string) string {
	declared, _ := schemas.TableByKind(kind)
	return f.into(storeDatabase+"."+kind, declared)
}

// Encoded is the body of an INSERT of messages.
func Encoded(tb testing.TB, kind string, messages []schemas.Message) []byte {
	tb.Helper()
	declared, _ := schemas.TableByKind(kind)
	t := &table{declared: declared}
	of := make([]int, len(messages))
	for i := range of {
		of[i] = i
	}
	var body bytes.Buffer
	if err := t.encode(&body, &call{messages: messages}, of); err != nil {
		tb.Fatal(err)
	}
	return body.Bytes()
}
