package schemas

// Payload is a raw tensor that was kept on purpose.
func Payload() Table {
	return Table{
		Name: "payload", Version: 1, Class: Measurement,
		Key: []string{"run_id", "site_id", "rank", "step"},
		Doc: "One row per raw tensor kept on purpose: where it lies.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the rank."},
			Column{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "Seq of the tensor row that it belongs to."},
			Column{Name: "site_id", Type: Uint64, Unit: Hash, Doc: "The tensor of the op (site)."},
			Column{Name: "location", Type: String, Unit: None, Doc: "Path of the file, relative to the folder of its dump or, from a live process, to the folder of payloads."},
			Column{Name: "size_bytes", Type: Uint64, Unit: Bytes, Nullable: true, Doc: "Size of the file; null when it was not there at publishing."},
			Column{Name: "digest", Type: Uint64, Unit: Hash, Doc: "Hash of the elements' bytes, by digest_kind; 0 when not taken."},
			Column{Name: "digest_kind", Type: Uint8, Unit: None, Doc: "As in tensor."},
		),
	}
}
