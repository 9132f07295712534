package schemas

// Failure is an op that raised an exception.
func Failure() Table {
	return Table{
		Name: "failure", Version: 1, Class: Measurement,
		Key: []string{"run_id", "rank", "step", "seq"},
		Doc: "One row per op that raised, or that ran when its process died: the exception, the inputs, the call stack.",
		Columns: measurement(
			Column{Name: "step", Type: Uint32, Unit: Ordinal, Doc: "Step of the rank."},
			Column{Name: "seq", Type: Uint64, Unit: Ordinal, Doc: "Seq of the op's record at the rank: ops with a smaller one began before it."},
			Column{Name: "op_id", Type: Uint64, Unit: Hash, Doc: "The op; 0 when none was under way."},
			Column{Name: "type", Type: String, Unit: None, Doc: "Class of the exception."},
			Column{Name: "message", Type: String, Unit: None, Doc: "Its message, cut where it is very long."},
			Column{Name: "inputs", Type: String, Unit: None, Doc: "Layouts of the op's inputs, as text; empty when not known."},
			Column{Name: "stack_id", Type: Uint64, Unit: Hash, Doc: "The call stack; 0 when not known."},
			Column{Name: "module_path", Type: String, Unit: None, Doc: "Dotted path of the module that the op ran in, or that it is; empty outside of modules."},
		),
	}
}
