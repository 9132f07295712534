package schemas

// Values of run.source: the observers of runs.
const (
	SourceMsprobe        = "msprobe"
	SourceCollector      = "collector"
	SourceSGLangDumper   = "sglang-dumper"
	SourceSGLangShapes   = "sglang-shapes"
	SourceKernelCalls    = "kernel-calls"
	SourceTensorFiles    = "tensors"
	SourceLogs           = "logs"
	SourceScalars        = "scalars"
	SourceFlightRecorder = "flight-recorder"
	SourceMemorySnapshot = "memory-snapshot"
	SourceRequests       = "requests"
)

// Run is one training job or one life of an inference engine.
func Run() Table {
	return Table{
		Name: "run", Version: 1, Class: Definition,
		Key: []string{"run_id", "epoch", "first_event_time_ns"},
		Doc: "One row per description of a run and time of its first event: a run described several times (by each rank, resumed, published in parts) has several, the latest counts.",
		Columns: []Column{
			{Name: "run_id", Type: Uint64, Unit: Hash, Doc: "Hash of the name."},
			{Name: "epoch", Type: Uint64, Unit: Hash, Doc: "Hash of this description."},
			{Name: "name", Type: String, Unit: None, Doc: "Name of the run, unique in a store, 1 to 200 characters."},
			{Name: "model", Type: String, Unit: None, Doc: "Model, as its user calls it; empty when not known."},
			{Name: "framework", Type: String, Unit: None, Doc: "pytorch, mindspore and so on; empty when not known."},
			{Name: "framework_version", Type: String, Unit: None, Doc: "Version of the framework; empty when not known."},
			{Name: "engine", Type: String, Unit: None, Doc: "sglang, vllm and so on; empty when none."},
			{Name: "engine_version", Type: String, Unit: None, Doc: "Version of the engine; empty when not known."},
			{Name: "world_size", Type: Uint32, Unit: None, Nullable: true, Doc: "Number of ranks; null when not known."},
			{Name: "dtype", Type: String, Unit: None, Doc: "Main dtype of the model; empty when not known."},
			{Name: "seed", Type: Int64, Unit: None, Nullable: true, Doc: "Random seed; null when not known."},
			{Name: "source", Type: String, Unit: None, Doc: "Observer of the run: msprobe, collector and so on."},
			{Name: "level", Type: String, Unit: None, Doc: "L0, L1, mix, aten; empty when not known."},
			{Name: "task", Type: String, Unit: None, Doc: "Kind of recording: statistics, tensor, structure, md5 and so on."},
			{Name: "host", Type: String, Unit: None, Doc: "Host of rank 0; empty when not known."},
			{Name: "commit", Type: String, Unit: None, Doc: "Commit of the user's code; empty when not known."},
			{Name: "config", Type: String, Unit: None, Doc: "Configuration of the observation as text; empty when not known."},
			{Name: "labels", Type: StringMap, Unit: None, Doc: "The user's own labels."},
			{Name: "first_event_time_ns", Type: Int64, Unit: Nanoseconds, Doc: "Time of the first event of this description."},
			{Name: "event_time_source", Type: String, Unit: None, Doc: "rank: the rank's clock; file: modification times."},
		},
	}
}
