package testbed

import (
	"fmt"
	"strconv"
)

// RowsOfRun is the number of tensor rows in a whole run of FillTwoRuns: 4 ranks, 250 steps, 5,000 tensors a
// step.
const RowsOfRun = 5_000_000

const (
	rowsOfStep   = 4 * 5_000 // of all ranks
	rowsOfInsert = 1_250_000
)

// fillTensors stores a share of a run. From the fourth step on the problem's tensors differ, by a fifth at most: one in
// 10,000 by a hundredth or more, one in 100 by a ten thousandth or more, and so on.
const fillTensors = `INSERT INTO tap_store.tensor
    (run_id, rank, epoch, batch, event_time_ns, step, seq, site_id, layout_id, measured, element_count, value_min, value_max, value_mean, value_l2)
SELECT
    xxh3(concat({run:String}, char(31))), intDiv(number, 5000 * {steps:UInt64}), 7, intDiv(number % (5000 * {steps:UInt64}), 50000),
    1760000000000000000, intDiv(number, 5000) % {steps:UInt64}, number % (5000 * {steps:UInt64}),
    cityHash64(number % 5000), cityHash64('layout', number % 40), 23, 65536,
    -3 * v, 3.2 * v, v / 100, 256 * v
FROM (
    SELECT
        number,
        (toFloat64(cityHash64(number)) / 18446744073709551616. + 0.01)
            * if({run:String} = 'problem' AND intDiv(number, 5000) % {steps:UInt64} >= 3, 1 + least(0.2, 18446744073709.551616 / (1. + cityHash64(number, 1))), 1) AS v
    FROM numbers({from:UInt64}, {count:UInt64})
)`

// fillDefinitions are those that both runs share: 1,250 ops in 48 layers, of four tensors each.
func fillDefinitions() []string {
	return []string{
		`INSERT INTO tap_store.layout (layout_id, kind, dtype, shape)
		SELECT cityHash64('layout', number), 'tensor', if(number % 4 = 0, 'torch.float32', 'torch.bfloat16'), [number + 1, 128] FROM numbers(40)`,
		`INSERT INTO tap_store.op (op_id, name, level, prefix, module_path, layer_index, class_or_api, call_index, phase)
		WITH concat('layers.', toString(number % 48), '.part', toString(intDiv(number, 48))) AS path, if(number < 625, 'forward', 'backward') AS phase
		SELECT cityHash64('op', number), concat('Module.', path, '.Linear.', phase, '.0'), 'module', 'Module', path, number % 48, 'Linear', 0, phase FROM numbers(1250)`,
		`INSERT INTO tap_store.site (site_id, op_id, role, path)
		SELECT cityHash64(number), cityHash64('op', intDiv(number, 4)), ['input', 'parameter', 'input', 'output'][number % 4 + 1], ['0', 'weight', '1', '0'][number % 4 + 1] FROM numbers(5000)`,
		`INSERT INTO tap_store.program (program_id, position, op_id) SELECT 77, number, cityHash64('op', number) FROM numbers(1250)`,
	}
}

// fillSteps are a run's description, its ranks and its steps, so many of each rank.
func fillSteps() []string {
	return []string{
		`INSERT INTO tap_store.run (run_id, epoch, name, event_time_source) SELECT xxh3(concat({run:String}, char(31))), 7, {run:String}, 'file'`,
		`INSERT INTO tap_store.rank (run_id, rank, epoch) SELECT xxh3(concat({run:String}, char(31))), number, 7 FROM numbers(4)`,
		`INSERT INTO tap_store.step (run_id, rank, epoch, event_time_ns, step, program_id, op_count, tensor_count, complete)
		SELECT xxh3(concat({run:String}, char(31))), intDiv(number, {steps:UInt64}), 7, 1760000000000000000, number % {steps:UInt64}, 77, 1250, 5000, 1 FROM numbers(4 * {steps:UInt64})`,
	}
}

// FillTwoRuns stores the runs `problem` and `bench` with so many tensor rows each, a multiple of 20,000, of 4 ranks; exec
// runs one statement with its parameters.
func FillTwoRuns(rows int, exec func(statement string, parameters map[string]string) error) error {
	for _, statement := range fillDefinitions() {
		if err := exec(statement, nil); err != nil {
			return fmt.Errorf("fill definitions: %w", err)
		}
	}
	for _, run := range []string{"problem", "bench"} {
		if err := fillOneRun(run, rows, exec); err != nil {
			return fmt.Errorf("fill run %s: %w", run, err)
		}
	}
	return nil
}

func fillOneRun(run string, rows int, exec func(string, map[string]string) error) error {
	steps := strconv.Itoa(rows / rowsOfStep)
	for _, statement := range fillSteps() {
		if err := exec(statement, map[string]string{"run": run, "steps": steps}); err != nil {
			return err
		}
	}
	for from := 0; from < rows; from += rowsOfInsert {
		count := strconv.Itoa(min(rowsOfInsert, rows-from))
		if err := exec(fillTensors, map[string]string{"run": run, "steps": steps, "from": strconv.Itoa(from), "count": count}); err != nil {
			return err
		}
	}
	return nil
}
