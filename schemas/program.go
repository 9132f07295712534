package schemas

// Program lists the ops of a step of a rank, in order, each under its module.
func Program() Table {
	return Table{
		Name: "program", Version: 1, Class: Definition,
		Key: []string{"program_id", "position"},
		Doc: "One row per position in an ordered list of ops; runs with a stable graph have few programs for many steps.",
		Columns: []Column{
			{Name: "program_id", Type: Uint64, Unit: Hash, Doc: "Hash of the op and parent of every position."},
			{Name: "position", Type: Uint32, Unit: Ordinal, Doc: "Position in execution order, from 0."},
			{Name: "op_id", Type: Uint64, Unit: Hash, Doc: "The op."},
			{Name: "parent_op_id", Type: Uint64, Unit: Hash, Doc: "The module that called it; 0 when there is none."},
		},
	}
}

// ProgramStack says where in the user's code the ops of a program were called.
// It is apart from program, since paths and lines differ between hosts.
func ProgramStack() Table {
	return Table{
		Name: "program_stack", Version: 1, Class: Definition,
		// The stack is part of the key: ranks that run the same program may do so from different
		// lines, and chance would choose between them.
		Key: []string{"run_id", "program_id", "position", "stack_id"},
		Doc: "One row per position of a program, in one run, and call stack that led there.",
		Columns: []Column{
			{Name: "run_id", Type: Uint64, Unit: Hash, Doc: "Run, as the hash of its name."},
			{Name: "program_id", Type: Uint64, Unit: Hash, Doc: "The program."},
			{Name: "position", Type: Uint32, Unit: Ordinal, Doc: "Position in execution order, from 0."},
			{Name: "stack_id", Type: Uint64, Unit: Hash, Doc: "The call stack."},
		},
	}
}
