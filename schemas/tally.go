package schemas

// Tally is which ATen ops a step called, how often.
func Tally() Table {
	return Table{
		Name: "tally", Version: 1, Class: Definition,
		Key: []string{"tally_id", "position"},
		Doc: "One row per signature among the calls of a step; steps with the same calls share one tally.",
		Columns: []Column{
			{Name: "tally_id", Type: Uint64, Unit: Hash, Doc: "Hash of signature, module and count of every position."},
			{Name: "position", Type: Uint32, Unit: Ordinal, Doc: "Position in the order of first calls, from 0."},
			{Name: "signature_id", Type: Uint64, Unit: Hash, Doc: "The op with its inputs and outputs (signature)."},
			{Name: "module_path", Type: String, Unit: None, Doc: "Dotted path of the module that first called it in the process; empty outside of modules."},
			{Name: "call_count", Type: Uint64, Unit: Count, Doc: "How many calls."},
		},
	}
}
