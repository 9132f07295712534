package grafana

func memoryBoard() Board {
	return Board{
		Name: "memory", Title: "Memory", About: "What each rank's device and host hold, for what, and whose memory grows without end.",
		Variables: append([]Variable{runVariable(), rankVariable()}, stepVariables()...),
		Panels: []Panel{
			{
				Title: "Growth without end", Drawing: Table, Wide: 24, High: 6, Bytes: []string{"growth_bytes_per_step", "peers_bytes_per_step", "op_bytes_per_step", "last_bytes"},
				Links: []Link{{Column: "rank", Board: "ranks", Passes: map[string]string{"run": "$run", "rank": "rank"}}},
				Query: Query{
					Select: "rank, device, component, counter, growth_bytes_per_step, peers_bytes_per_step, differs, op, module, op_bytes_per_step, user_frame, last_bytes, step_count",
					From:   "memory_growth_report", With: ofRank(),
				},
			},
			memoryLines("Allocated, rank by rank", "concat('rank ', toString(rank), ' ', device)", "component = 'all' AND counter = 'allocated'"),
			memoryLines("Resident on the host, rank by rank", "concat('rank ', toString(rank))", "component = 'all' AND counter = 'host resident'"),
			memoryLines("By component", "concat('rank ', toString(rank), ' ', component)", "component != 'all' AND counter = 'allocated'"),
			{
				Title: "Allocated, over time", Drawing: OverTime, Unit: "bytes",
				Query: Query{
					Select: bucket("event_time_ns") + " AS time, concat('rank ', toString(rank), ' ', device) AS line, max(allocated_bytes) AS allocated",
					From:   "memories", Where: ofThisRun + " AND component = 'all' AND op_id = 0 AND isNotNull(allocated_bytes) AND $rank IN ('-1', toString(rank))\n    AND " + inRange("event_time_ns"),
					Rest: "GROUP BY time, rank, device\nORDER BY time, rank, device",
				},
			},
			{
				Title: "All counters", Drawing: Table, Wide: 24, Bytes: []string{"growth_bytes_per_step", "first_bytes", "last_bytes", "greatest_bytes", "peak_bytes"},
				Query: Query{
					Select: "rank, device, component, counter, verdict, growth_bytes_per_step, first_bytes, last_bytes, greatest_bytes, peak_bytes, peak_step, peak_op, retry_count, oom_count, basis",
					From:   "memory_report", With: ofRank(),
				},
			},
		},
	}
}

func memoryLines(title, line, where string) Panel {
	return Panel{Title: title, Drawing: OverSteps, Unit: "bytes", Query: Query{
		Select: "step, " + line + " AS line, bytes AS value", From: "memory_counters", With: ofRun(),
		Where: where + " AND $rank IN ('-1', toString(rank))", Rest: "ORDER BY step, rank, device, component",
	}}
}

func trendsBoard() Board {
	return Board{
		Name: "trends", Title: "Trends", About: "How any statistic of a run moves from step to step, layer by layer or rank by rank, beside that of its bench.",
		Variables: append([]Variable{
			runVariable(), benchVariable(),
			{Name: "statistic", Label: "Statistic", Choices: []string{"rms", "l2", "mean", "min", "max", "nan_count", "infinity_count", "not_finite_count", "row_count", "element_count"}},
			{Name: "by", Label: "By", Choices: []string{"layer", "rank", "module", "op", "site"}},
			{Name: "role", Label: "Role", Choices: []string{"output", "input", "kwarg", "parameter", "parameter_gradient", "all"}},
			{Name: "phase", Label: "Phase", Choices: []string{"all", "forward", "backward", "recompute", "gradient", "optimizer", "none"}},
		}, stepVariables()...),
		Panels: []Panel{
			{
				Title: "$statistic by $by", Drawing: OverSteps, Wide: 24, High: 12,
				Query: Query{
					Select: "step, if($by IN ('layer', 'rank') AND group_index >= 0, concat($by, ' ', toString(group_index)), group_name) AS line, value",
					From:   "trend_report", With: ofTrend(), Where: "isNotNull(value)", Rest: "ORDER BY step, group_index, line",
				},
			},
			{
				Title: "Beside the bench", Drawing: Table, Wide: 24, High: 10,
				Query: Query{Select: trendDifference, From: "trend_difference_report", With: ofTrendDifference(), Rest: "LIMIT 1000"},
			},
			{
				Title: "Numbers that the program reported of itself", Drawing: OverSteps, Wide: 24, About: "Losses, learning rates, throughput: notes, timers, log lines and files of scalars.",
				Query: Query{
					Select: "assumeNotNull(metrics.step) AS step, concat(name, if(rank < 4294967295, concat(', rank ', toString(rank)), '')) AS line, avg(metrics.value) AS value",
					From:   "metrics", Where: ofThisRun + " AND isNotNull(metrics.step) AND step >= toInt64($first_step) AND ($last_step = '-1' OR step <= toInt64($last_step))",
					Rest: "GROUP BY step, name, rank\nORDER BY step, name, rank",
				},
			},
		},
	}
}

const trendDifference = "group_index, group_name, step, problem_value, bench_value, ratio"

func ofTrend() map[string]string {
	return with(ofRun(), "statistic", "$statistic", "by", "$by", "role", "$role", "phase", "$phase", "limit", "100000")
}

func ofTrendDifference() map[string]string {
	arguments := with(ofTrend(), "problem", "$run", "bench", "$bench", "limit", "1000")
	delete(arguments, "run")
	return arguments
}
