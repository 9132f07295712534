package clickhouse

// LedgerSQL has the queries by which a Writer looks up batches.
func LedgerSQL(name, producers string) []string {
	t := &table{name: name}
	return []string{t.countsSQL(producers, 0, 1000), t.intervalsSQL(producers)}
}

// IDTaken says whether the server refused a query for its id, so that it can be asked again.
func IDTaken(err error) bool { return idTaken(err) }
