package grafana

func runsBoard() Board {
	return Board{
		Name: "runs", Title: "Runs", About: "Which runs there are, whether they are alive and whole, and whether each is the same as the run it is held against.",
		Panels: []Panel{
			{
				Title: "Runs by state", Drawing: Figures, Wide: 12, High: 4,
				Query: Query{Select: "status, count() AS runs", From: "runs", Rest: "GROUP BY status\nORDER BY status"},
			},
			{
				Title: "Verdicts of comparisons", Drawing: Figures, Wide: 12, High: 4,
				Query: Query{Select: "verdict, count() AS comparisons", From: "judged_runs", Rest: "GROUP BY verdict\nORDER BY verdict"},
			},
			{
				Title: "Runs", Drawing: Table, Wide: 24, High: 11, Links: linksOfRun("run"),
				About: "Latest first. The verdict is that of the comparison that was asked for last; the first divergence is where the difference began.",
				Query: Query{
					Select: "run, status, complete, explanation, verdict, bench, first_step, first_rank, first_op, rank_count, step_count, last_step, " + moment("last_event_time_ns") + " AS last_event",
					From:   "run_overviews", Rest: "ORDER BY last_event_time_ns DESC, run\nLIMIT 500",
				},
			},
			{
				Title: "Steps that ended, of all ranks", Drawing: OverTime,
				Query: Query{
					Select: bucket("event_time_ns") + " AS time, run, count() AS steps", From: "steps", Where: inRange("event_time_ns"),
					Rest: "GROUP BY time, run\nORDER BY time, run",
				},
			},
			{
				Title: "Step reached", Drawing: OverTime,
				Query: Query{
					Select: bucket("event_time_ns") + " AS time, run, max(step) AS reached", From: "steps", Where: inRange("event_time_ns"),
					Rest: "GROUP BY time, run\nORDER BY time, run",
				},
			},
		},
	}
}

// linksOfRun lead from a run's name to all that is shown of it.
func linksOfRun(column string) []Link {
	links := []Link{{Column: column, Board: "divergence", Passes: map[string]string{"run": column, "bench": "bench", "comparison": ""}}}
	for _, board := range []string{"overflow", "memory", "ranks", "trends", "logs"} {
		links = append(links, Link{Column: column, Board: board, Passes: map[string]string{"run": column}})
	}
	return links
}

func ranksBoard() Board {
	return Board{
		Name: "ranks", Title: "Ranks", About: "What each rank of a run does, when it was last heard of, and which are behind the others or waited for.",
		Variables: append([]Variable{runVariable(), rankVariable()}, stepVariables()...),
		Panels: []Panel{
			{
				Title: "Ranks", Drawing: Table, Wide: 24,
				Links: []Link{{Column: "rank", Board: "logs", Passes: map[string]string{"run": "$run", "rank": "rank"}}},
				Query: Query{
					Select: "rank, state, " + moment("heard_time_ns") + " AS heard, heard_seconds_ago, step, behind_step_count, op, module, op_seconds, failure_type, failure_message, host, pid, device",
					From:   "ranks_report", With: map[string]string{"run": "$run"}, Where: "$rank IN ('-1', toString(rank))",
				},
			},
			{
				Title: "Duration of steps", Drawing: OverSteps, Unit: "s",
				Query: Query{
					Select: "step, concat('rank ', toString(rank)) AS line, (end_time_ns - begin_time_ns) / 1e9 AS value",
					From:   "steps", Where: ofThisRun + " AND isNotNull(begin_time_ns) AND isNotNull(end_time_ns)\n    AND step >= toInt64($first_step) AND ($last_step = '-1' OR step <= toInt64($last_step)) AND $rank IN ('-1', toString(rank))",
					Rest: "ORDER BY step, rank",
				},
			},
			{
				Title: "Duration of steps, over time", Drawing: OverTime, Unit: "s",
				Query: Query{
					Select: bucket("event_time_ns") + " AS time, concat('rank ', toString(rank)) AS line, max(end_time_ns - begin_time_ns) / 1e9 AS seconds",
					From:   "steps", Where: ofThisRun + " AND isNotNull(begin_time_ns) AND isNotNull(end_time_ns) AND $rank IN ('-1', toString(rank))\n    AND " + inRange("event_time_ns"),
					Rest: "GROUP BY time, rank\nORDER BY time, rank",
				},
			},
			{
				Title: "Own time of steps, by phase", Drawing: OverSteps, Unit: "ms", About: "Without what a rank waited for others.",
				Query: Query{
					Select: "step, concat('rank ', toString(rank), ' ', phase) AS line, own_ms AS value", From: "phases_report",
					With: with(ofRank(), "all", "1", "limit", "20000"), Rest: "ORDER BY step, rank, phase",
				},
			},
			{
				Title: "Stragglers", Drawing: Table, About: "Steps in which a rank is behind the others by its own work; what is most behind comes first.",
				Query: Query{
					Select: "rank, step, phase, own_ms, peers_ms, behind_ms, factor, waited_ms, peers_waited_ms, " + moment("begin_time_ns") + " AS begun",
					From:   "phases_report", With: ofRank(),
				},
			},
			{
				Title: "Hangs", Drawing: Table, Wide: 24, About: "Collectives that wait for a rank, or that ranks called with different things.",
				Query: Query{
					Select: "process_group, group_seq, name, problem, missing_ranks, waiting_ranks, different, waited_seconds, missing_are, user_frame, " + moment("since_time_ns") + " AS since",
					From:   "hang_report", With: map[string]string{"run": "$run"},
				},
			},
		},
	}
}

// with adds pairs of a parameter and its value.
func with(arguments map[string]string, pairs ...string) map[string]string {
	for i := 0; i+1 < len(pairs); i += 2 {
		arguments[pairs[i]] = pairs[i+1]
	}
	return arguments
}
