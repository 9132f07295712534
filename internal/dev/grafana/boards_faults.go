package grafana

func divergenceBoard() Board {
	variables := append([]Variable{runVariable(), benchVariable(), comparisonVariable(), rankVariable()}, stepVariables()...)
	variables = append(variables, layerVariable())
	return Board{
		Name: "divergence", Title: "Divergence", About: "Where a run and its bench differ: the origin, the first divergence of each rank, and the errors of layers step by step.",
		Variables: variables,
		Panels:    append(firstDivergences(), errorsOfLayers()...),
	}
}

func layerVariable() Variable {
	return Variable{Name: "layer", Label: "Layer", Default: "all", Query: Query{
		Select: "arrayJoin(arrayConcat(['all'], arraySort(groupUniqArray(path)))) AS layer", From: "layer_errors", Where: ofComparison,
	}}
}

// ofComparison keeps the comparison that is chosen; a link that knows none leaves it to the next choice.
const ofComparison = "comparison_id = reinterpretAsUInt64(reverse(unhex($comparison)))"

func firstDivergences() []Panel {
	return []Panel{
		{
			Title: "Where the difference began", Drawing: Table, Wide: 24, High: 5, About: "Over all ranks.",
			Links: []Link{{Column: "op", Board: "trends", Passes: map[string]string{"run": "$run", "bench": "$bench", "by": "=layer"}}},
			Query: Query{
				Select: "rank, step, op, module, role, path, verdict, reason, evidence, error, tolerance, problem_dtype, bench_dtype, problem_shape, bench_shape, user_frame",
				From:   "origin_report", With: ofPair(),
			},
		},
		{
			Title: "First divergence of each rank", Drawing: Table, Wide: 24, Links: []Link{{Column: "rank", Board: "ranks", Passes: map[string]string{"run": "$run", "rank": "rank"}}},
			Query: Query{
				Select: "rank, step, op, module, role, path, verdict, error, tolerance, error_in, error_out, problem_mean, bench_mean, user_frame, differing_count",
				From:   "first_divergence_report", With: ofPairSteps(), Rest: "ORDER BY step, rank",
			},
		},
	}
}

func errorsOfLayers() []Panel {
	return []Panel{
		{
			Title: "Error by layer and step", Drawing: OverSteps, Wide: 24, High: 10, Logarithmic: true, About: "The greatest relative error of any tensor of the layer, forwards and backwards, of any rank.",
			Query: Query{
				Select: "step, concat(path, ' ', direction) AS line, max(greatest_error) AS value", From: "layer_errors",
				Where: ofComparison + " AND isNotNull(greatest_error) AND $layer IN ('all', path) AND $rank IN ('-1', toString(rank))\n    AND step >= toInt64($first_step) AND ($last_step = '-1' OR step <= toInt64($last_step))",
				Rest:  "GROUP BY step, path, direction, layer_index\nORDER BY step, direction, layer_index, path",
			},
		},
		{
			Title: "Verdicts by step", Drawing: OverSteps, About: "How many pairs of tensors got which verdict, over all ranks.",
			Query: Query{
				Select: "step, verdict.1 AS line, sum(verdict.2) AS value", From: "divergence_summary_report", With: ofPairSteps(),
				Rest: "ARRAY JOIN [('equal', equal_count), ('within', within_count), ('agrees', agrees_count), ('diverged', diverged_count), ('not finite', not_finite_count), ('structure', structure_count), ('unknown', unknown_count)] AS verdict\nGROUP BY step, line\nORDER BY step, line",
			},
		},
		{
			Title: "Differing tensors by rank", Drawing: OverSteps,
			Query: Query{
				Select: "step, concat('rank ', toString(rank)) AS line, differing_count AS value", From: "divergence_summary_report", With: ofPairSteps(),
				Rest: "ORDER BY step, rank",
			},
		},
		{
			Title: "What differs", Drawing: Table, Wide: 24, High: 10, About: "In the order of execution.",
			Query: Query{
				Select: "rank, step, op, module, role, path, verdict, error, tolerance, reason, problem_mean, bench_mean, problem_l2, bench_l2, user_frame",
				From:   "divergence_report", With: with(ofPairSteps(), "limit", "200"),
			},
		},
	}
}

func overflowBoard() Board {
	return Board{
		Name: "overflow", Title: "Overflow", About: "Where NaN and infinity are that nobody meant, where they began, and which requests met them.",
		Variables: append([]Variable{runVariable(), rankVariable()}, stepVariables()...),
		Panels: []Panel{
			{
				Title: "Values that are not finite", Drawing: OverSteps, Wide: 12, About: "Without those that are meant, as masks of attention.",
				Query: Query{
					Select: "step, concat('rank ', toString(rank)) AS line, sum(nan_count + positive_infinity_count + negative_infinity_count) AS value",
					From:   "overflows", With: ofRank(), Where: "NOT excused", Rest: "GROUP BY step, rank\nORDER BY step, rank",
				},
			},
			{
				Title: "By rank", Drawing: Table, Wide: 12,
				Query: Query{Select: "rank, step_count, row_count, measured_count, not_finite_count, exception_count", From: "overflow_summary_report", With: ofRank(), Rest: "ORDER BY not_finite_count DESC, rank"},
			},
			{
				Title: "Where it began", Drawing: Table, Wide: 24, High: 10, About: "By step, then in the order of execution: the first line is the earliest.",
				Links: []Link{{Column: "rank", Board: "ranks", Passes: map[string]string{"run": "$run", "rank": "rank"}}},
				Query: Query{
					Select: "rank, step, position, op, module, role, path, verdict, dtype, shape, value_min, value_max, nan_count, positive_infinity_count, negative_infinity_count",
					From:   "overflow_report", With: with(ofRank(), "exceptions", "1", "limit", "200"),
				},
			},
			{
				Title: "NaN over time", Drawing: OverTime, Wide: 12,
				Query: Query{
					Select: bucket("event_time_ns") + " AS time, concat('rank ', toString(rank)) AS line, sum(nan_count) AS nan", From: "nan_tensors",
					Where: ofThisRun + " AND $rank IN ('-1', toString(rank)) AND " + inRange("event_time_ns"), Rest: "GROUP BY time, rank\nORDER BY time, rank",
				},
			},
			{
				Title: "Requests poisoned", Drawing: Table, Wide: 12, About: "The likeliest source first.",
				Query: Query{
					Select: "request, how, first_step, rank, op, phase, nan_count, not_finite_step_count, finite_step_count, prompt_token_count",
					From:   "poisoned_requests_report", With: ofRun(),
				},
			},
		},
	}
}
