package schemas

// Site is one tensor, or other argument, of an op.
func Site() Table {
	return Table{
		Name: "site", Version: 1, Class: Definition,
		Key: []string{"site_id"},
		Doc: "One row per tensor, or other argument, of an op.",
		Columns: []Column{
			{Name: "site_id", Type: Uint64, Unit: Hash, Doc: "Hash of (op, role, path)."},
			{Name: "op_id", Type: Uint64, Unit: Hash, Doc: "The op."},
			{Name: "role", Type: String, Unit: None, Doc: "input, kwarg, output, parameter or parameter_gradient."},
			{Name: "path", Type: String, Unit: None, Doc: "Place within the role: 0, 1.1, weight and so on."},
		},
	}
}
