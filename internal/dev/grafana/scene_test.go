package grafana_test

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// A scene is two runs of 4 ranks, 40 steps and 4 layers that go on now: good, which is held against older, and bad, held
// against good. What is wrong with bad:
//   - from step 12 on, layer 2 of rank 1 differs;
//   - from step 20 on, layer 2 of rank 2 gives NaN, while request req-7 is served;
//   - rank 3 leaks 1 MiB a step, and was last heard of ten minutes ago;
//   - an all_reduce waits for rank 3; rank 0 took 20 s for the forward pass of step 30, and dropped events in step 31;
//   - a message of it was refused.
const (
	goodRun = "good"
	badRun  = "it's \\' OR 1=1 -- ${run} $__fromTime \"`,{}%27ü" // a name that ends texts of SQL and of Grafana where it should not
)

// sceneRun begins the statements of a scene. Ranks that are well give their sign of life in an hour: a test takes its time.
const sceneRun = `WITH toUnixTimestamp64Nano(now64(9)) AS now, xxh3(concat({run:String}, char(31))) AS id, {bad:UInt8} AS bad, 5 + bad AS comparison
`

func definitions() []string {
	return []string{
		`INSERT INTO tap_store.op (op_id, name, level, prefix, module_path, layer_index, class_or_api, call_index, phase)
		SELECT 1000 + number, concat('Module.layers.', toString(number), '.Linear.forward.0'), 'module', 'Module', concat('layers.', toString(number)), number, 'Linear', 0, 'forward' FROM numbers(4)`,
		`INSERT INTO tap_store.site (site_id, op_id, role, path)
		SELECT 2000 + number, 1000 + intDiv(number, 3), ['input', 'parameter', 'output'][number % 3 + 1], ['0', 'weight', '0'][number % 3 + 1] FROM numbers(12)`,
		`INSERT INTO tap_store.layout (layout_id, kind, dtype, shape) VALUES (1, 'tensor', 'torch.float32', [8, 8])`,
		`INSERT INTO tap_store.program (program_id, position, op_id) SELECT 77, number, 1000 + number FROM numbers(4)`,
	}
}

func runRows() []string {
	return []string{
		`INSERT INTO tap_store.run (run_id, epoch, name, model, framework, world_size, source, level, task, first_event_time_ns, event_time_source) ` + sceneRun +
			`SELECT id, 1, {run:String}, 'tiny', 'pytorch', 4, 'collector', 'L1', 'statistics', now - 400000000000, 'rank'`,
		`INSERT INTO tap_store.rank (run_id, rank, epoch, host, pid, device) ` + sceneRun + `SELECT id, number, 7, 'node', 100 + number, 'cuda:0' FROM numbers(4)`,
		`INSERT INTO tap_store.step (run_id, rank, epoch, batch, event_time_ns, step, begin_time_ns, end_time_ns, program_id, phase, op_count, tensor_count, dropped_count, drop_reason, complete) ` + sceneRun +
			`SELECT id, number % 4 AS rank, 7, intDiv(number, 4) AS step, now - (40 - step) * 10000000000 AS began, step, began, began + if(bad AND rank = 0 AND step = 30, 20, 2) * 1000000000, 77, 'train', 4, 12,
			if(bad AND rank = 0 AND step = 31, 5, 0), if(bad AND rank = 0 AND step = 31, 'queue full', ''), 1 FROM numbers(160)`,
		`INSERT INTO tap_store.tensor (run_id, rank, epoch, batch, event_time_ns, step, seq, site_id, layout_id, measured, element_count, value_min, value_max, value_mean, value_l2, nan_count) ` + sceneRun +
			`SELECT id, number % 4 AS rank, 7, intDiv(number, 48) AS step, now - (40 - step) * 10000000000, step, intDiv(number, 4) % 12 AS seq, 2000 + seq, 1, 471, 64,
			if((bad AND rank = 2 AND step >= 20 AND seq >= 8) AS broken, nan, -1), if(broken, nan, 1), if(broken, nan, 0), if(broken, nan, 2 + step / 10), if(broken, 5, 0) FROM numbers(1920)`,
		`INSERT INTO tap_store.heartbeat (run_id, rank, epoch, batch, event_time_ns, state, step, seq) ` + sceneRun +
			`SELECT id, number, 7, 0, now + if(bad AND number = 3, -600, 3600) * 1000000000, 'running', 39, 1 FROM numbers(4)`,
		`INSERT INTO tap_store.memory (run_id, rank, epoch, batch, event_time_ns, step, seq, device, allocated_bytes, reserved_bytes, peak_bytes, host_resident_bytes, component) ` + sceneRun +
			`SELECT id, number % 4 AS rank, 7, step, now - (40 - step) * 10000000000, intDiv(number, 8) AS step, 12, 'cuda:0',
			(intDiv(number, 4) % 2 ? 500000000 : 1000000000 + (bad AND rank = 3) * step * 1048576) AS bytes, bytes, bytes, 2000000000, intDiv(number, 4) % 2 ? 'weights' : '' FROM numbers(320)`,
		`INSERT INTO tap_store.log (run_id, rank, epoch, batch, event_time_ns, seq, time_basis, host, stream, level, text) ` + sceneRun +
			`SELECT id, number % 4 AS rank, 7, step, now - (40 - step) * 10000000000 + 1000, step, 'record', 'node', 'stderr', bad AND rank = 2 AND step = 20 ? 'error' : 'info',
			bad AND rank = 2 AND step = 20 ? 'loss is nan' : concat('step ', toString(intDiv(number, 4) AS step)) FROM numbers(160)`,
		`INSERT INTO tap_store.metric (run_id, rank, epoch, batch, event_time_ns, step, seq, name, value) ` + sceneRun +
			`SELECT id, 0, 7, 0, now - (40 - number) * 10000000000, number, number, 'loss', 3 - number / 64 FROM numbers(40)`,
		`INSERT INTO tap_store.collective (run_id, rank, epoch, batch, event_time_ns, step, seq, process_group, group_ranks, group_seq, name, state) ` + sceneRun +
			`SELECT id, number % 4, 7, intDiv(number, 4), now - 400000000000, intDiv(number, 4) AS call, call, 'world [0-3]', [0, 1, 2, 3], call, 'all_reduce', bad AND call = 9 ? 'started' : 'completed'
			FROM numbers(40) WHERE NOT (bad AND number = 39)`,
	}
}

func comparisonRows() []string {
	return []string{
		`INSERT INTO tap_store.declared_comparison (comparison_id, declared_time_ns, problem, benches, tolerance, standing) ` + sceneRun +
			`SELECT comparison, now - 300000000000, {run:String}, [bad ? 'good' : 'older'], 1e-6, 1`,
		`INSERT INTO tap_store.judged_step (run_id, rank, epoch, batch, event_time_ns, comparison_id, step, bench_rank, bench_step, problem_epoch, bench_epoch, problem_row_count, bench_row_count,
			problem_program_id, bench_program_id, paired_count, measured_count, agrees_count, diverged_count, differing_count, greatest_error, first_seq, first_site_id, first_verdict, first_evidence, first_error, first_tolerance) ` + sceneRun +
			`SELECT id, number % 4 AS rank, 90, step, now - 60000000000, comparison, intDiv(number, 4) AS step, rank, step, 7, 7, 12, 12, 77, 77, 12, 12, 12 - differing, differing,
			bad AND rank = 1 AND step >= 12 ? 4 : 0 AS differing, differing ? 0.125 : 1e-8, differing ? 8 : 0, differing ? 2008 : 0, differing ? 'diverged' : '', differing ? 'statistics' : '', differing ? 0.125 : NULL, differing ? 1e-6 : NULL FROM numbers(160)`,
		`INSERT INTO tap_store.layer_error (run_id, rank, epoch, batch, event_time_ns, comparison_id, step, direction, layer_index, path, paired_count, differing_count, greatest_error, median_error, greatest_site_id) ` + sceneRun +
			`SELECT id, number % 4 AS rank, 90, step, now - 60000000000, comparison, intDiv(number, 16) AS step, 'forward', intDiv(number, 4) % 4 AS layer, concat('layers.', toString(layer)), 3,
			bad AND rank = 1 AND step >= 12 AND layer >= 2 ? 2 : 0 AS differing, differing ? 0.125 : 1e-8, 1e-9, 2000 + layer * 3 + 2 FROM numbers(640)`,
		`INSERT INTO tap_store.verdict (run_id, rank, epoch, batch, event_time_ns, comparison_id, step, bench_rank, bench_step, seq, site_id, bench_site_id, problem_present, bench_present, problem_layout_id, bench_layout_id,
			verdict, numeric, evidence, differs, error, tolerance, problem_measured, bench_measured, problem_mean, bench_mean) ` + sceneRun +
			`SELECT id, 1, 90, step, now - 60000000000, comparison, 12 + intDiv(number, 4) AS step, 1, step, 8 + number % 4 AS seq, 2000 + seq, 2000 + seq, 1, 1, 1, 1, 'diverged', 'diverged', 'statistics', 1, 0.125, 1e-6, 471, 471, 0.125, 0
			FROM numbers(112) WHERE bad`,
		`INSERT INTO tap_store.origin (comparison_id, revision, position, rank, step, seq, op, module, role, path, kind, verdict, evidence, error, tolerance) ` + sceneRun +
			`SELECT comparison, 1, 0, 1, 12, 8, 'Module.layers.2.Linear.forward.0', 'layers.2', 'output', '0', 'op', 'diverged', 'statistics', 0.125, 1e-6 WHERE bad`,
		`INSERT INTO tap_store.request (run_id, rank, epoch, batch, event_time_ns, step, seq, request, phase, prompt_hash, token_count) ` + sceneRun +
			`SELECT id, 2, 7, number, now - (20 - number) * 10000000000, 20 + number, 1, number < 3 ? 'req-7' : 'req-8', 'decode', number < 3 ? 7 : 8, 1 FROM numbers(6) WHERE bad`,
		`INSERT INTO tap_store.dead_letter (origin, stream_seq, stream_time_ns, subject, reason, digest, size_bytes, location) ` + sceneRun +
			`SELECT 'clickhouse', 12, now - 60000000000, 'tap.tensor.x.0', 'checksum does not match', 77, 100, 'TAP_DEAD 1' WHERE bad`,
	}
}

// fillRun stores a run of the scene.
func fillRun(tb testing.TB, d *testbed.Database, name, bad string) {
	tb.Helper()
	for _, statement := range append(runRows(), comparisonRows()...) {
		d.Query(tb, statement, "", map[string]string{"run": strings.ReplaceAll(name, `\`, `\\`), "bad": bad})
	}
}

func fillDefinitions(tb testing.TB, d *testbed.Database) {
	tb.Helper()
	for _, statement := range definitions() {
		d.Query(tb, statement, "", nil)
	}
}
