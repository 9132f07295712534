package plugin_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/grafana/plugin"
)

func request() plugin.Request {
	return plugin.Request{
		From: time.UnixMilli(1415792726123).UTC(), To: time.UnixMilli(1447328726456).UTC(), Interval: time.Minute,
		Variables: map[string][]string{
			"run": {"a'b"}, "two": {"x", "y'z"}, "all": {plugin.All}, "back": {`\' OR 1=1 --`}, "umlaut": {"ü (1)!*"},
		},
	}
}

// What the data source's own tests say of its macros.
func TestMacrosMeanWhatTheDataSourceMeans(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"where $__timeFilter(cast(sth as timestamp) )":        "where cast(sth as timestamp) >= toDateTime(1415792726) AND cast(sth as timestamp) <= toDateTime(1447328726)",
		"where $__timeFilter_ms(a)":                           "where a >= fromUnixTimestamp64Milli(1415792726123) AND a <= fromUnixTimestamp64Milli(1447328726456)",
		"( date >= $__fromTime ) and ( date <= $__toTime ) l": "( date >= toDateTime(1415792726) ) and ( date <= toDateTime(1447328726) ) l",
		"$__fromTime_ms and $__toTime_ms":                     "fromUnixTimestamp64Milli(1415792726123) and fromUnixTimestamp64Milli(1447328726456)",
		"$__timeInterval($__fromTime) AS f":                   "toStartOfInterval(toDateTime(toDateTime(1415792726)), INTERVAL 60 second) AS f",
		"$__timeInterval_ms(t)":                               "toStartOfInterval(toDateTime64(t, 3), INTERVAL 60000 millisecond)",
		"$__timeFilter(coalesce(c, $__toTime))":               "coalesce(c, toDateTime(1447328726)) >= toDateTime(1415792726) AND coalesce(c, toDateTime(1447328726)) <= toDateTime(1447328726)",
		"$__dateTimeFilter(d, t)":                             "(d >= toDate('2014-11-12') AND d <= toDate('2015-11-12')) AND (t >= toDateTime(1415792726) AND t <= toDateTime(1447328726))",
		"count() / $__interval_s":                             "count() / 60",
		`msg = 'it\'s -- fine' and $__fromTime`:               `msg = 'it\'s -- fine' and toDateTime(1415792726)`,
		"SELECT `a--b` -- $__nonsense\nWHERE $__fromTime":     "SELECT `a--b` \nWHERE toDateTime(1415792726)",
		"a $__conditionalAll(x IN ($two), $two) b":            "a x IN ('x','y'z') b",
		"a $__conditionalAll(x IN ($all), $all) b":            "a 1=1 b",
		"${run} $run [[run]] ${run:raw} $unknown":             "a'b a'b a'b a'b $unknown",
		"${run:singlequote} ${two:singlequote}":               `'a\'b' 'x','y\'z'`,
		"${run:sqlstring}":                                    "'a''b'",
		"'${umlaut:percentencode}' '${back:percentencode}'":   `'%C3%BC%20%281%29%21%2A' '%5C%27%20OR%201%3D1%20--'`,
		"${__from} ${__to} $__interval_ms":                    "1415792726123 1447328726456 60000",
		"SELECT 1 FROM t SETTINGS $__adHocFilters('t')":       "SELECT 1 FROM t SETTINGS additional_table_filters={}",
	} {
		if got, err := request().Query(raw); err != nil || got != want {
			t.Errorf("Query(%s) = %s, %v\nwant %s", raw, got, err, want)
		}
	}
}

func TestAdHocFiltersBecomeASetting(t *testing.T) {
	t.Parallel()
	r := request()
	r.Filters = []plugin.Filter{{Key: "level", Operator: "=", Value: "error"}, {Key: "text", Operator: "=~", Value: "nan"}}
	got, err := r.Query("SELECT text FROM tap.logs")
	want := `SELECT text FROM tap.logs settings additional_table_filters={'tap.logs': ' level = \'error\' AND text REGEXP \'nan\' '}`
	if err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func TestWhatIsNotKnownIsRefused(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"$__columns(a, b, c) FROM t": "$__columns is not known",
		"$__timeFilter(a, b)":        "wants 1 arguments, got 2",
		"$__timeFilter(a":            "has no end",
		"${run:lucene}":              `form "lucene" is not known`,
		"$__conditionalAll(a)":       "wants a condition and a variable",
	} {
		if got, err := request().Query(raw); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Query(%s) = %s, %v, want an error with %q", raw, got, err, want)
		}
	}
}
