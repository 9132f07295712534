// Package grafana declares what Grafana shows of the store: dashboards, alert rules, contact points, data sources. Files
// gives them as the files of deploy/grafana, which Grafana reads when it starts.
package grafana

// Board is one dashboard.
type Board struct {
	Name      string // of its file, and of its address: tensortap-NAME
	Title     string
	About     string
	Variables []Variable
	Panels    []Panel
}

// Variable is a choice at the head of a dashboard. It has a query, choices, or else is typed.
type Variable struct {
	Name, Label string
	Query       Query // its columns: value and text, or one for both
	Choices     []string
	Default     string
}

// Drawing is how a panel shows its rows.
type Drawing int

// The drawings.
const (
	Table     Drawing = iota
	OverTime          // lines by the first column, a time; texts name the line, the last column is its value
	OverSteps         // lines by the columns step, line, value
	Figures           // a big figure per row: text, value
	Lines             // log lines: timestamp, body, level
)

// Panel is one picture of a dashboard.
type Panel struct {
	Title, About string
	Drawing      Drawing
	Query        Query
	Metric       string // of Prometheus, by its language; then there is no query
	Legend       string // of a metric: the name of each line
	Unit         string // of Grafana, as bytes, s, short
	Logarithmic  bool
	Wide         uint32 // of 24 columns, 12 if 0
	High         uint32 // 8 if 0
	Links        []Link
	Bytes        []string // columns of a table that are bytes
}

// Link leads from a column of a table to another dashboard.
type Link struct {
	Column string
	Board  string
	// Passes are the variables of that dashboard and where they come from: a column of the row, or a variable as $name.
	Passes map[string]string
}

// Boards are all dashboards, in the order of a search for what is wrong.
func Boards() []Board {
	return []Board{
		runsBoard(), divergenceBoard(), overflowBoard(), memoryBoard(), ranksBoard(), trendsBoard(), logsBoard(), pipelineBoard(),
	}
}

func runVariable() Variable {
	return Variable{Name: "run", Label: "Run", Query: Query{Select: "name", From: "runs", Rest: "ORDER BY last_event_time_ns DESC\nLIMIT 500"}}
}

func benchVariable() Variable {
	return Variable{Name: "bench", Label: "Bench", Query: Query{
		Select: "bench", From: "judged_runs", Where: "problem = $run", Rest: "GROUP BY bench\nORDER BY max(declared_time_ns) DESC",
	}}
}

func comparisonVariable() Variable {
	return Variable{Name: "comparison", Label: "Comparison", Query: Query{
		Select: "comparison, concat(comparison, ' ', verdict, ', asked for ', formatDateTime(" + moment("declared_time_ns") + ", '%F %T')) AS text",
		From:   "judged_runs", Where: "problem = $run AND bench = $bench", Rest: "ORDER BY declared_time_ns DESC",
	}}
}

func rankVariable() Variable {
	return Variable{Name: "rank", Label: "Rank (-1: all)", Default: "-1", Query: Query{
		Select: "arrayJoin(arrayConcat([toInt64(-1)], arraySort(groupUniqArray(toInt64(rank))))) AS value, if(value = -1, 'all', toString(value)) AS text",
		From:   "ranks", Where: ofThisRun,
	}}
}

func stepVariables() []Variable {
	return []Variable{
		{Name: "first_step", Label: "First step", Default: "0"},
		{Name: "last_step", Label: "Last step (-1: all)", Default: "-1"},
	}
}

// ofThisRun keeps the run by its id, by which tables are sorted, and not by its name.
const ofThisRun = "run_id = xxh3(concat($run, char(31)))"

// ofRun are the arguments of most views of one run.
func ofRun() map[string]string {
	return map[string]string{"run": "$run", "first_step": "$first_step", "last_step": "$last_step"}
}

func ofRank() map[string]string {
	arguments := ofRun()
	arguments["rank"] = "$rank"
	return arguments
}

// ofPair are the arguments of what reads a comparison.
func ofPair() map[string]string {
	return map[string]string{"problem": "$run", "bench": "$bench", "comparison": "$comparison"}
}

func ofPairSteps() map[string]string {
	arguments := ofPair()
	arguments["first_step"], arguments["last_step"], arguments["rank"] = "$first_step", "$last_step", "$rank"
	return arguments
}
