package grafana

import "fmt"

// Alert is one rule. Each row of its query is a case of its own: its texts are labels, and its one number is held against
// Above. Without rows nothing is wrong.
type Alert struct {
	Name     string // of the rule, and of its uid
	Title    string
	Summary  string // what to say, with {{ $labels.run }} and the like
	Severity string // critical or warning
	Board    string // that shows more
	Query    Query
	Above    float64
	For      string // how long it has to hold
	Range    int    // seconds of the past that the query sees
}

// Alerts are all rules.
func Alerts() []Alert {
	return append(alertsOfNumbers(), append(alertsOfRanks(), alertsOfPipeline()...)...)
}

const (
	critical = "critical"
	warning  = "warning"
	hour     = 3600
)

func alertsOfNumbers() []Alert {
	return []Alert{
		{
			Name: "first-divergence", Title: "A run differs from its bench", Severity: critical, Board: "divergence", For: "0s", Range: hour,
			Summary: "{{ $labels.run }} differs from {{ $labels.bench }}: first at step {{ $labels.step }}, rank {{ $labels.rank }}, {{ $labels.op }}.",
			Query: Query{
				Select: "problem AS run, bench, comparison, toString(first_step) AS step, toString(first_rank) AS rank, first_op AS op, toFloat64(differing_count) AS value",
				From:   "judged_runs", Where: "verdict = 'differs' AND " + inRange("judged_time_ns"),
			},
		},
		{
			Name: "first-nan", Title: "A tensor holds NaN", Severity: critical, Board: "overflow", For: "0s", Range: hour,
			Summary: "NaN in {{ $labels.run }}: first on rank {{ $labels.rank }} at step {{ $labels.step }}, {{ $labels.op }}.",
			Query: Query{
				Select: "run, toString(tupleElement(min((nan_tensors.step, nan_tensors.seq, nan_tensors.rank, nan_tensors.op)) AS first, 3)) AS rank, toString(tupleElement(first, 1)) AS step, tupleElement(first, 4) AS op, toFloat64(count()) AS value",
				From:   "nan_tensors", Where: inRange("event_time_ns"), Rest: "GROUP BY run",
			},
		},
		{
			Name: "logprob-drift", Title: "A run's log-probabilities drift from its bench's", Severity: warning, Board: "divergence", For: "0s", Range: hour,
			Summary: "Log-probabilities of {{ $labels.run }} drift from {{ $labels.bench }}: first in step {{ $labels.step }}. `tensortap report logprobs` says why.",
			Query: Query{
				Select: "problem AS run, bench, toString(min(token_drifts.global_step)) AS step, toFloat64(count()) AS value",
				From:   "token_drifts", Where: "drifts AND " + inRange("event_time_ns"), Rest: "GROUP BY run, bench",
			},
		},
		{
			Name: "memory-growth", Title: "A rank's memory grows without end", Severity: warning, Board: "memory", For: "5m", Range: hour, Above: 65536,
			Summary: "{{ $labels.run }}, rank {{ $labels.rank }}: {{ $labels.counter }} memory of {{ $labels.device }} rises step by step.",
			Query: Query{
				Select: "run, toString(rank) AS rank, device, counter, bytes_per_step AS value", From: "memory_climbs",
				Where: "rises AND " + inRange("event_time_ns"),
			},
		},
	}
}

func alertsOfRanks() []Alert {
	return []Alert{
		{
			Name: "rank-silent", Title: "A rank is silent", Severity: critical, Board: "ranks", For: "0s", Range: 24 * hour, Above: 60,
			Summary: "{{ $labels.run }}, rank {{ $labels.rank }} gave no sign of life for a minute; it was in step {{ $labels.step }}.",
			Query: Query{
				Select: "run, toString(rank) AS rank, toString(step) AS step, " + secondsSince("event_time_ns") + " AS value", From: "live_ranks",
				Where: "NOT debugged AND " + inRange("event_time_ns"),
			},
		},
		{
			Name: "hang", Title: "A collective waits for a rank", Severity: critical, Board: "ranks", For: "0s", Range: 24 * hour, Above: 300,
			Summary: "{{ $labels.run }}: {{ $labels.collective }} waits for ranks {{ $labels.missing }}.",
			Query: Query{
				Select: "run, concat(name, ' ', toString(group_seq), ' of ', process_group) AS collective, toString(missing_ranks) AS missing, " + secondsSince("called_time_ns") + " AS value",
				From:   "waiting_collectives", Where: inRange("called_time_ns"),
			},
		},
	}
}

func secondsSince(column string) string {
	return fmt.Sprintf("(toUnixTimestamp64Nano(now64(9)) - %s) / 1e9", column)
}

func alertsOfPipeline() []Alert {
	return []Alert{
		{
			Name: "dead-letters", Title: "Messages cannot be stored", Severity: warning, Board: "pipeline", For: "0s", Range: hour,
			Summary: "The writer of {{ $labels.origin }} refused messages: {{ $labels.reason }}.",
			Query: Query{
				Select: "origin, any(reason) AS reason, toFloat64(count()) AS value", From: "dead_letters", Where: inRange("stream_time_ns"), Rest: "GROUP BY origin",
			},
		},
		{
			Name: "dropped-events", Title: "Ranks drop events", Severity: warning, Board: "pipeline", For: "0s", Range: hour,
			Summary: "{{ $labels.run }}, rank {{ $labels.rank }} dropped events: {{ $labels.reason }}.",
			Query: Query{
				Select: "run, toString(rank) AS rank, any(drop_reason) AS reason, toFloat64(sum(dropped_count)) AS value", From: "steps",
				Where: "dropped_count > 0 AND " + inRange("event_time_ns"), Rest: "GROUP BY run, rank",
			},
		},
		{
			Name: "disk", Title: "The database's disk is nearly full", Severity: critical, Board: "pipeline", For: "5m", Range: hour, Above: 0.9,
			Summary: "Disk {{ $labels.disk }} of the database is more than nine tenths full.",
			Query:   Query{Select: "name AS disk, 1 - free_space / total_space AS value", From: "system.disks", Where: "total_space > 0"},
		},
	}
}
