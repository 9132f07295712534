package testbed

import "strconv"

// Size of the run that FillDrawn stores.
const (
	DrawnRanks = 1024
	DrawnSteps = 10_000
)

// FillDrawn stores a run of a tensor for each rank and step, of which each rank published a hundred steps in a batch. It
// calls do with each statement.
func FillDrawn(run string, do func(statement string, parameters map[string]string) error) error {
	of := func(more map[string]string) map[string]string {
		more["run"], more["ranks"] = run, strconv.Itoa(DrawnRanks)
		return more
	}
	for _, statement := range []string{
		`INSERT INTO tap_store.run (run_id, epoch, name, event_time_source) SELECT xxh3(concat({run:String}, char(31))), 7, {run:String}, 'rank'`,
		`INSERT INTO tap_store.rank (run_id, rank, epoch, tp, pp, dp)
			SELECT xxh3(concat({run:String}, char(31))), number, 7, number % 8, intDiv(number, 8) % 4, intDiv(number, 32) FROM numbers({ranks:UInt64})`,
	} {
		if err := do(statement, of(map[string]string{})); err != nil {
			return err
		}
	}
	const atOnce = 1000
	for from := 0; from < DrawnSteps; from += atOnce {
		for _, statement := range []string{drawnTensors, drawnSteps} {
			if err := do(statement, of(map[string]string{"from": strconv.Itoa(from), "count": strconv.Itoa(DrawnRanks * atOnce)})); err != nil {
				return err
			}
		}
	}
	return nil
}

const drawnTensors = `INSERT INTO tap_store.tensor (run_id, rank, epoch, batch, event_time_ns, step, seq, site_id, layout_id, measured, element_count, value_min, value_max, value_mean, value_l2)
	WITH 1 + toFloat64(cityHash64(number, {from:UInt64}) % 1000) / 1000 AS v, {from:UInt64} + intDiv(number, {ranks:UInt64}) AS at
	SELECT xxh3(concat({run:String}, char(31))), number % {ranks:UInt64}, 7, intDiv(at, 100), 1760000000000000000, at, at, cityHash64(0), 1, 23, 65536, -v, v, v / 100, 256 * v FROM numbers({count:UInt64})`

const drawnSteps = `INSERT INTO tap_store.step (run_id, rank, epoch, batch, event_time_ns, step, op_count, tensor_count, complete)
	WITH {from:UInt64} + intDiv(number, {ranks:UInt64}) AS at
	SELECT xxh3(concat({run:String}, char(31))), number % {ranks:UInt64}, 7, intDiv(at, 100), 1760000000000000000, at, 1, 1, 1 FROM numbers({count:UInt64})`
