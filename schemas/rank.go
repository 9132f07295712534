package schemas

// Rank is one start of one process of a run.
func Rank() Table {
	return Table{
		Name: "rank", Version: 1, Class: Definition,
		Key: []string{"run_id", "rank", "epoch"},
		Doc: "One row per start of a process of a run, with its coordinates in the parallel groups.",
		Columns: []Column{
			{Name: "run_id", Type: Uint64, Unit: Hash, Doc: "Run, as the hash of its name."},
			{Name: "rank", Type: Uint32, Unit: Ordinal, Doc: "Global rank."},
			{Name: "epoch", Type: Uint64, Unit: Hash, Doc: "Start of the producer, or hash of a file's content, step and generation."},
			{Name: "host", Type: String, Unit: None, Doc: "Host name; empty when not known."},
			{Name: "pid", Type: Int64, Unit: None, Nullable: true, Doc: "Process id; null when not known."},
			{Name: "device", Type: String, Unit: None, Doc: "Device of the process, as cuda:0; empty when not known."},
			{Name: "tp", Type: Int16, Unit: None, Doc: "Coordinate in the tensor-parallel group; -1 when not known."},
			{Name: "pp", Type: Int16, Unit: None, Doc: "Coordinate in the pipeline-parallel group; -1 when not known."},
			{Name: "dp", Type: Int16, Unit: None, Doc: "Coordinate in the data-parallel group; -1 when not known."},
			{Name: "cp", Type: Int16, Unit: None, Doc: "Coordinate in the context-parallel group; -1 when not known."},
			{Name: "ep", Type: Int16, Unit: None, Doc: "Coordinate in the expert-parallel group; -1 when not known."},
			{Name: "tp_size", Type: Int16, Unit: None, Doc: "Size of the tensor-parallel group; -1 when not known."},
			{Name: "pp_size", Type: Int16, Unit: None, Doc: "Size of the pipeline-parallel group; -1 when not known."},
			{Name: "dp_size", Type: Int16, Unit: None, Doc: "Size of the data-parallel group; -1 when not known."},
			{Name: "cp_size", Type: Int16, Unit: None, Doc: "Size of the context-parallel group; -1 when not known."},
			{Name: "ep_size", Type: Int16, Unit: None, Doc: "Size of the expert-parallel group; -1 when not known."},
			{Name: "source_name", Type: String, Unit: None, Doc: "The source's name of the rank: rank0, proc4711 and so on."},
			{Name: "started_time_ns", Type: Int64, Unit: Nanoseconds, Nullable: true, Doc: "Start of the process; null when not known."},
			{Name: "parameters", Type: StringMap, Unit: None, Doc: "Checksum, dtype and shape of each parameter and saved buffer as the first step began, by name; empty when not read."},
			{Name: "child", Type: Uint8, Unit: None, Doc: "1 if a process of the program made it by fork or multiprocessing, and it has no place of its own among the ranks; 0 in rows from before this column."},
		},
	}
}
