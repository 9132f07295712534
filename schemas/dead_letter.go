package schemas

// DeadLetter is a message that could not be stored, and why.
func DeadLetter() Table {
	return Table{
		Name: "dead_letter", Version: 1, Class: Definition,
		Key: []string{"origin", "stream_seq", "digest"},
		Doc: "One row per message that could not be stored. Its bytes are kept where location says.",
		Columns: []Column{
			{Name: "origin", Type: String, Unit: None, Doc: "Name of the consumer that refused it, or publisher."},
			{Name: "stream_seq", Type: Uint64, Unit: Ordinal, Doc: "Place in the stream; 0 when it never got there."},
			{Name: "stream_time_ns", Type: Int64, Unit: Nanoseconds, Doc: "Time of the stream's server; of the publisher when it never got there."},
			{Name: "subject", Type: String, Unit: None, Doc: "Subject that it was published under."},
			{Name: "headers", Type: StringMap, Unit: None, Doc: "Its headers; of a repeated header the first value."},
			{Name: "reason", Type: String, Unit: None, Doc: "Why it was refused."},
			{Name: "digest", Type: Uint64, Unit: Hash, Doc: "xxh3 of its bytes; with stream_seq 0 also of its subject and id."},
			{Name: "size_bytes", Type: Uint64, Unit: Bytes, Doc: "Size of its bytes."},
			{Name: "location", Type: String, Unit: None, Doc: "Where the bytes are kept: stream and sequence, or a file."},
		},
	}
}
