package schemas

// Stack is a Python call stack.
func Stack() Table {
	return Table{
		Name: "stack", Version: 1, Class: Definition,
		Key: []string{"stack_id"},
		Doc: "One row per distinct Python call stack.",
		Columns: []Column{
			{Name: "stack_id", Type: Uint64, Unit: Hash, Doc: "Hash of the frames."},
			{Name: "frames", Type: Strings, Unit: None, Doc: "Frames, innermost first."},
		},
	}
}
