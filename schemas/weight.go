package schemas

// Weight is a parameter as it was after an update, by its checksum.
func Weight() Table {
	return Table{
		Name: "weight", Version: 1, Class: Measurement,
		Key: []string{"run_id", "version", "name", "rank"},
		Doc: "One row per parameter, or saved buffer, and moment at which a program said that the weights are those of an update: its checksum.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the rank that was under way or, between two, the one before."},
			Column{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "Order of the rows within the epoch."},
			Column{Name: "version", Type: Uint64, Unit: Ordinal, Doc: "The trainer's update, as the program says."},
			Column{Name: "name", Type: String, Unit: None, Doc: "Path of the parameter in the model."},
			Column{Name: "checksum", Type: Uint64, Unit: Hash, Doc: "Hash of the elements' bytes, as in rank.parameters."},
			Column{Name: "description", Type: String, Unit: None, Doc: "Its dtype and shape, and how many of its elements were read where not all were. Checksums of different ones say nothing."},
		),
	}
}
