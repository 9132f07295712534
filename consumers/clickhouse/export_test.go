package clickhouse

// LedgerSQL is the queries by which a Writer looks up batches.
func LedgerSQL(name, producers string) []string {
	t := &table{name: name}
	return []string{t.countsSQL(producers, 0, 1000), t.intervalsSQL(producers)}
}
