package schemas

// Audit is a line about a deed of a person: something was changed, or read out of a process.
func Audit() Table {
	return Table{
		Name: "audit", Version: 1, Class: Definition,
		Key: []string{"deed_id", "ordinal"},
		Doc: "Two rows per deed: one before it, one with its result. Who was killed between them left the first alone.",
		Columns: []Column{
			{Name: "deed_id", Type: Uint64, Unit: Hash, Doc: "Random number that both rows of a deed have."},
			{Name: "ordinal", Type: Uint8, Unit: Ordinal, Doc: "0 before the deed, 1 after it."},
			{Name: "written_time_ns", Type: Int64, Unit: Nanoseconds, Doc: "Time of the row, by the clock of the host that did it."},
			{Name: "deed", Type: String, Unit: None, Doc: "What was done, as the command is named: delete, pin, unpin, stop, resume, capture, poke, debug, trace, baseline set, baseline remove, silence set, silence remove, heal, end (of the program that tensortap run had started, by its user)."},
			{Name: "run_name", Type: String, Unit: None, Doc: "Name of the run; empty where the deed is about none."},
			{Name: "target", Type: String, Unit: None, Doc: "What else it was done to: the name of a baseline, the id of a silence; empty where that is all of the run."},
			{Name: "details", Type: StringMap, Unit: None, Doc: "How it was asked for, as ranks and steps. Texts of prompts are counted, not written."},
			{Name: "system_user", Type: String, Unit: None, Doc: "User of the operating system, as the command says."},
			{Name: "host", Type: String, Unit: None, Doc: "Host of the command, as it says."},
			{Name: "nats_user", Type: String, Unit: None, Doc: "Public key or name by which the command logged in to NATS; empty in a folder's own system."},
			{Name: "credentials", Type: String, Unit: None, Doc: "Name of the file of these credentials, without its folder; empty where none was given."},
			{Name: "result", Type: String, Unit: None, Doc: "done, partly, refused or failed; empty before the deed."},
			{Name: "reason", Type: String, Unit: None, Doc: "Why it was refused, failed, or was done in part."},
		},
	}
}
