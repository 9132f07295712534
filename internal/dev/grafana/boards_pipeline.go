package grafana

func logsBoard() Board {
	return Board{
		Name: "logs", Title: "Logs", About: "What the processes of a run wrote, in the order of time.",
		Variables: []Variable{
			runVariable(), rankVariable(),
			{Name: "level", Label: "Least level", Choices: []string{"debug", "info", "warning", "error", "critical"}, Default: "info"},
			{Name: "grep", Label: "Text (regular expression)"},
			{Name: "request", Label: "Request"},
		},
		Panels: []Panel{
			{
				Title: "Lines by level", Drawing: OverTime, Wide: 24, High: 5,
				Query: Query{
					Select: bucket("event_time_ns") + " AS time, if(level = '', 'none', level) AS level, count() AS lines", From: "logs_report", With: ofLogs(),
					Where: inRange("event_time_ns"), Rest: "GROUP BY time, level\nORDER BY time, level",
				},
			},
			{
				Title: "Lines", Drawing: Lines, Wide: 24, High: 20,
				Query: Query{
					Select: moment("event_time_ns") + " AS timestamp, concat(text, if(exception = '', '', '\\n'), exception) AS body, level, toString(rank) AS rank, toString(step) AS step, stream, logger, host",
					From:   "logs_report", With: ofLogs(), Where: inRange("event_time_ns"), Rest: "ORDER BY event_time_ns DESC\nLIMIT 2000",
				},
			},
		},
	}
}

func ofLogs() map[string]string {
	return map[string]string{"run": "$run", "rank": "$rank", "level": "$level", "grep": "$grep", "request": "$request"}
}

func pipelineBoard() Board {
	return Board{
		Name: "pipeline", Title: "Pipeline", About: "Whether all that ranks produced is stored, what was refused or dropped, and what it takes of the disk.",
		Panels: append(stored(), metered()...),
	}
}

// stored are panels of the database alone.
func stored() []Panel {
	return []Panel{
		{
			Title: "Free on the disk", Drawing: Figures, Unit: "bytes", Wide: 8, High: 5,
			Query: Query{Select: "name, free_space AS free", From: "system.disks", Rest: "ORDER BY name"},
		},
		{
			Title: "Stored on the disk", Drawing: Figures, Unit: "bytes", Wide: 8, High: 5,
			Query: Query{Select: "database, sum(bytes_on_disk) AS bytes", From: "system.parts", Where: "active AND database = 'tap_store'", Rest: "GROUP BY database"},
		},
		{
			Title: "Messages refused, of all time", Drawing: Figures, Wide: 8, High: 5,
			Query: Query{Select: "origin, count() AS refused", From: "dead_letters", Rest: "GROUP BY origin\nORDER BY origin"},
		},
		{
			Title: "Messages refused, over time", Drawing: OverTime,
			Query: Query{
				Select: bucket("stream_time_ns") + " AS time, origin, count() AS refused", From: "dead_letters", Where: inRange("stream_time_ns"),
				Rest: "GROUP BY time, origin\nORDER BY time, origin",
			},
		},
		{
			Title: "Events dropped by ranks, over time", Drawing: OverTime,
			Query: Query{
				Select: bucket("event_time_ns") + " AS time, run, sum(dropped_count) AS dropped", From: "steps", Where: "dropped_count > 0 AND " + inRange("event_time_ns"),
				Rest: "GROUP BY time, run\nORDER BY time, run",
			},
		},
		{
			Title: "Parts written and merged last, over time", Drawing: OverTime, About: "By the table's parts that are there now.",
			Query: Query{
				Select: "$__timeInterval(modification_time) AS time, table, count() AS parts", From: "system.parts",
				Where: "active AND database = 'tap_store' AND $__timeFilter(modification_time)", Rest: "GROUP BY time, table\nORDER BY time, table",
			},
		},
		{
			Title: "Tables", Drawing: Table, Bytes: []string{"bytes"},
			Query: Query{
				Select: "table, count() AS parts, sum(rows) AS rows, sum(bytes_on_disk) AS bytes, max(modification_time) AS written", From: "system.parts",
				Where: "active AND database = 'tap_store'", Rest: "GROUP BY table\nORDER BY bytes DESC",
			},
		},
		{
			Title: "What is not whole", Drawing: Table, Wide: 24, Links: []Link{{Column: "run", Board: "ranks", Passes: map[string]string{"run": "run"}}},
			Query: Query{
				Select: "run, rank, explanation, produced_row_count, stored_row_count, dropped_count, missing_batch_count, dead_letter_count", From: "completeness",
				Where: "NOT complete", Rest: "ORDER BY last_event_time_ns DESC, run, rank\nLIMIT 500",
			},
		},
		{
			Title: "Messages refused", Drawing: Table, Wide: 24, Bytes: []string{"size_bytes"},
			Query: Query{Select: moment("stream_time_ns") + " AS refused, origin, subject, reason, size_bytes, digest_hex", From: "dead_letters_report", With: map[string]string{"limit": "200"}},
		},
	}
}
