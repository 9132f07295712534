package system

import (
	"context"
	"strconv"
)

// RanksOfProcesses is the rank of each process of a run on that host, by its id: all starts of each rank. On other hosts
// other processes have the same ids.
func (c *Client) RanksOfProcesses(ctx context.Context, run, host string) (map[int]int64, error) {
	table, err := c.Table(ctx, `SELECT pid, rank FROM tap_store.rank
WHERE run_id = xxh3(concat({run:String}, char(31))) AND host = {host:String} AND pid IS NOT NULL
ORDER BY started_time_ns`, map[string]string{"run": run, "host": host})
	if err != nil {
		return nil, err
	}
	ranks := map[int]int64{}
	for _, row := range table.Rows {
		pid, err := strconv.Atoi(row[0].Exact)
		if err != nil {
			return nil, err
		}
		ranks[pid] = int64(row[1].Number)
	}
	return ranks, nil
}
