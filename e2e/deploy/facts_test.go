package deploy

// facts are what each panel has to show of the demo (internal/dev/demo/faults.go): by DASHBOARD/TITLE, texts of its answer.
func facts() map[string][]string {
	const op = "op=Module.layers.2.Linear.forward.0"
	return map[string][]string{
		"runs/Runs by state":                  {"status=died runs=1", "status=ended runs=1"},
		"runs/Verdicts of comparisons":        {"verdict=differs comparisons=1"},
		"runs/Runs":                           {"run=demo-bad ", "verdict=differs bench=demo-good first_step=12 first_rank=1 first_op=Module.layers.2.Linear.forward.0"},
		"runs/Steps that ended, of all ranks": {"run=demo-bad steps=", "run=demo-good steps="},
		"runs/Step reached":                   {"run=demo-bad reached=31", "run=demo-good reached=31"},

		"divergence/Where the difference began":    {"rank=1 step=12 " + op},
		"divergence/First divergence of each rank": {"rank=1 step=12 " + op, "rank=2 step=20 " + op},
		"divergence/Error by layer and step":       {"step=12 line=layers.2 forward value=0."},
		"divergence/Verdicts by step":              {"step=12 line=diverged value=3", "step=20 line=not finite value=3"},
		"divergence/Differing tensors by rank":     {"step=11 line=rank 1 value=0", "step=12 line=rank 1 value=3", "step=20 line=rank 2 value=3"},
		"divergence/What differs":                  {"rank=1 step=12 " + op},

		"overflow/Values that are not finite": {"step=20 line=rank 2 value=6"},
		"overflow/By rank":                    {"rank=2 step_count=32 row_count=384 measured_count=384 not_finite_count=36 "},
		"overflow/Where it began":             {"rank=2 step=20 position=577 " + op},
		"overflow/NaN over time":              {"line=rank 2 nan="},
		"overflow/Requests poisoned":          {"request=req-7 how=suspect first_step=20 rank=2 " + op, "request=req-8 how=later first_step=23"},

		"memory/Growth without end":                 {"rank=3 device=cuda:0 component=all counter=allocated growth_bytes_per_step=1.048576e+06"},
		"memory/Allocated, rank by rank":            {"step=30 line=rank 3 cuda:0 value=1105199104", "step=30 line=rank 0 cuda:0 value=1073741824"},
		"memory/Resident on the host, rank by rank": {"step=30 line=rank 3 value=2147483648"},
		"memory/By component":                       {"step=30 line=rank 0 weights value=536870912"},
		"memory/Allocated, over time":               {"line=rank 3 cuda:0 allocated=1105199104"},
		"memory/All counters":                       {"rank=3 device=cuda:0 component=all counter=allocated verdict=grows growth_bytes_per_step=1.048576e+06"},

		"ranks/Ranks":                        {"rank=3 state=died ", "failure_type=torch.OutOfMemoryError failure_message=CUDA out of memory.", "op=Distributed.all_reduce.0.forward "},
		"ranks/Duration of steps":            {"step=25 line=rank 0 value=8.1"},
		"ranks/Duration of steps, over time": {"line=rank 0 seconds=8.1"},
		"ranks/Own time of steps, by phase":  {"step=25 line=rank 0 train value=8000"},
		"ranks/Stragglers":                   {"rank=0 step=25 phase=train own_ms=8000 peers_ms=2000 "},
		"ranks/Hangs":                        {"process_group=world [0-3] group_seq=32 name=all_reduce problem=not arrived missing_ranks=3"},

		"trends/$statistic by $by":                           {"step=30 line=layer 2"},
		"trends/Beside the bench":                            {"group_index=2 group_name=2 step=12 "},
		"trends/Numbers that the program reported of itself": {"step=30 line=loss, rank 0 value=2.53125"},

		"logs/Lines by level": {"level=error lines=1", "level=critical lines=1"},
		"logs/Lines":          {"body=loss is nan level=error rank=2 step=20", "torch.OutOfMemoryError: CUDA out of memory."},

		"pipeline/Free on the disk":                           {"name=default free="},
		"pipeline/Stored on the disk":                         {"database=tap_store bytes="},
		"pipeline/Messages refused, of all time":              {"origin=tables-", "origin=parquet-"},
		"pipeline/Messages refused, over time":                {"origin=tables-", "origin=parquet-"},
		"pipeline/Events dropped by ranks, over time":         {"run=demo-bad dropped=5"},
		"pipeline/Parts written and merged last, over time":   {"table=tensor parts="},
		"pipeline/Tables":                                     {"table=tensor parts="},
		"pipeline/What is not whole":                          {"the rank dropped 5", "run=demo-bad rank=3 explanation=1 steps were cut short"},
		"pipeline/Messages refused":                           {"subject=tap.tensor."},
		"pipeline/Messages that wait in the stream":           {"consumer:tables-", "consumer:parquet-"},
		"pipeline/Age of the oldest message that waits":       {"consumer:tables-", "consumer:parquet-"},
		"pipeline/Rows stored a second":                       {"consumer:tables-", "consumer:parquet-", "above nothing: true"},
		"pipeline/Time of a write to the store, of 99 in 100": {"consumer:tables-", "consumer:parquet-", "above nothing: true"},
	}
}
