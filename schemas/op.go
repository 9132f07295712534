package schemas

// Op is one call of a module, an API, an ATen op or a collective, by its full name.
func Op() Table {
	return Table{
		Name: "op", Version: 1, Class: Definition,
		Key: []string{"op_id"},
		Doc: "One row per op: one call, within a step, of a module, API, ATen op or collective.",
		Columns: []Column{
			{Name: "op_id", Type: Uint64, Unit: Hash, Doc: "Hash of the name."},
			{Name: "name", Type: String, Unit: None, Doc: "Full name in msProbe's form, as Functional.linear.3.forward."},
			{Name: "level", Type: String, Unit: None, Doc: "module, api, aten, collective, optimizer or other."},
			{Name: "prefix", Type: String, Unit: None, Doc: "First part of the name: Module, Functional, Tensor, Torch and so on."},
			{Name: "module_path", Type: String, Unit: None, Doc: "Dotted path of the module; empty when the op is none."},
			{Name: "layer_index", Type: Int32, Unit: None, Doc: "Index of the layer in the module's path; -1 when there is none."},
			{Name: "class_or_api", Type: String, Unit: None, Doc: "Class of the module or name of the API."},
			{Name: "call_index", Type: Int64, Unit: None, Doc: "Number of the call in the step, from 0; -1 when the name has none."},
			{Name: "phase", Type: String, Unit: None, Doc: "forward, backward, recompute, gradient, optimizer or none."},
		},
	}
}
