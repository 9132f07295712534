package answers

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// apiOf is the address of the API of a system that is up.
func apiOf(tb testing.TB, u *program.Up) string {
	tb.Helper()
	found := regexp.MustCompile(`(?m)^  page +(http://\S+/)$`).FindStringSubmatch(u.Stdout.String())
	if found == nil {
		tb.Fatalf("up does not say where its page is:\n%s", u.Stdout)
	}
	return found[1] + "api/v1"
}

// answered is what a request got.
type answered struct {
	status int
	header http.Header
	body   string
}

// exchange makes a request with these headers, each "Name: value".
func exchange(tb testing.TB, method, address, body string, headers ...string) answered {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), method, address, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
		if name == "Host" {
			request.Host = value
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		tb.Fatalf("%s %s: %v", method, address, err)
	}
	defer response.Body.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatalf("%s %s: %v", method, address, err)
	}
	return answered{response.StatusCode, response.Header, string(text)}
}

func query(text string) string { return url.QueryEscape(text) }

func get(tb testing.TB, address string, headers ...string) answered {
	tb.Helper()
	return exchange(tb, http.MethodGet, address, "", headers...)
}

// problemOf is what an answer says that is none.
func problemOf(tb testing.TB, a answered) (sentence, parameter string) {
	tb.Helper()
	var p struct {
		Status           int
		Error, Parameter string
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil || p.Status != a.status || p.Error == "" {
		tb.Errorf("status %d, %v in %.300s", a.status, err, a.body)
	}
	return p.Error, p.Parameter
}

func TestTheAPIAnswersAsTheCommandLine(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B04_eps_mix", "B00_golden_mix")
	api := apiOf(t, u)
	const runs = "?problem=B04_eps_mix&bench=B00_golden_mix"
	for path, args := range map[string]string{
		"/reports/divergence" + runs:                                "report divergence --problem B04_eps_mix --bench B00_golden_mix",
		"/reports/divergence" + runs + "&tolerance=0.5&limit=0":     "report divergence --problem B04_eps_mix --bench B00_golden_mix --tolerance 0.5 --limit 0",
		"/reports/layers" + runs:                                    "report layers --problem B04_eps_mix --bench B00_golden_mix",
		"/reports/completeness?run=B00_golden_mix":                  "report completeness --run B00_golden_mix",
		"/reports/overflow?run=B04_eps_mix&limit=2&columns=op,step": "report overflow --run B04_eps_mix --limit 2 --columns op,step",
		"/explain" + runs + "&op=Functional.linear.7.forward":       "explain --problem B04_eps_mix --bench B00_golden_mix --op Functional.linear.7.forward",
		"/compare" + runs:                                           "compare B04_eps_mix B00_golden_mix",
		"/compare" + runs + "&rank=0&limit=2&steps=0":               "compare B04_eps_mix B00_golden_mix --rank 0 --limit 2 --steps 0",
	} {
		got := get(t, api+path)
		want := program.Run(t, u.Setting, append(strings.Fields(args), "--output", "json", "--data", u.Data)...)
		if got.status != http.StatusOK || got.body != want.Stdout {
			t.Errorf("%s: status %d\n%.2000s\ntensortap %s: %.2000s\n%s", path, got.status, got.body, args, want.Stdout, want.Stderr)
		}
	}
}

func TestTheAPIAnswersInEveryFormat(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B04_eps_mix", "B00_golden_mix")
	address := apiOf(t, u) + "/reports/divergence?problem=B04_eps_mix&bench=B00_golden_mix&limit=7"
	want := rowsOfJSON(t, get(t, address).body)
	byArrow := get(t, address, "Accept: application/vnd.apache.arrow.stream")
	reader, err := ipc.NewReader(strings.NewReader(byArrow.body))
	if err != nil {
		t.Fatalf("%v in %.200q", err, byArrow.body)
	}
	defer reader.Release()
	var arrowRows []string
	for reader.Next() {
		for r := range int(reader.RecordBatch().NumRows()) {
			arrowRows = append(arrowRows, rowOfRecord(reader.RecordBatch(), r))
		}
	}
	for format, got := range map[string][]string{
		"arrow": arrowRows, "csv": rowsOfCSV(t, get(t, address+"&format=csv").body), "parquet": rowsOfParquet(t, get(t, address+"&format=parquet").body),
	} {
		if len(want) != 7 || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
	if again := get(t, address+"&format=arrow"); again.header.Get("Content-Type") != "application/vnd.apache.arrow.stream" || again.body != byArrow.body {
		t.Errorf("format=arrow is %s of %d bytes", again.header.Get("Content-Type"), len(again.body))
	}
	if none := get(t, address, "Accept: text/html"); none.status != http.StatusNotAcceptable {
		t.Errorf("text/html has status %d", none.status)
	}
}

func TestTheAPISaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B04_eps_mix", "B00_golden_mix")
	api := apiOf(t, u)
	const divergence = "/reports/divergence?problem=B04_eps_mix&bench=B00_golden_mix"
	long := strings.Repeat("%E5%90%8D", 10_000)
	for path, want := range map[string]struct {
		status    int
		parameter string
	}{
		"/nothing":                                          {404, ""},
		"/reports/nothing":                                  {404, ""},
		"/reports/a%2Fb":                                    {404, ""},
		"/reports/%3Cscript%3E":                             {404, ""},
		"/reports/..%2f..%2fetc%2fpasswd":                   {404, ""},
		"/reports/divergence?problem=B04_eps_mix":           {400, "bench"},
		"/reports/divergence?problem=&bench=B00_golden_mix": {400, "problem"},

		"/reports/divergence?problem=B04_eps_mix&bench=%3Cscript%3E": {404, "bench"},
		"/reports/divergence?problem=%E2%80%AE&bench=B00_golden_mix": {404, "problem"},

		divergence + "&rank=x":                                                 {400, "rank"},
		divergence + "&rank=-2":                                                {400, "rank"},
		divergence + "&rank=7":                                                 {404, "rank"},
		divergence + "&rank=0&rank=1":                                          {400, "rank"},
		divergence + "&limit=-1":                                               {400, "limit"},
		divergence + "&limit=99999999999999999999":                             {400, "limit"},
		divergence + "&tolerance=NaN":                                          {400, "tolerance"},
		divergence + "&tolerance=Infinity":                                     {400, "tolerance"},
		divergence + "&tolerance=%2Fetc%2Fpasswd":                              {400, "tolerance"},
		divergence + "&format=text":                                            {400, "format"},
		divergence + "&format=arrow&columns=op":                                {400, "columns"},
		divergence + "&columns=nothing":                                        {400, "columns"},
		divergence + "&measured=%5B%5D":                                        {400, "measured"},
		divergence + "&phase=%FF":                                              {400, "phase"},
		divergence + "&phase=a%00b":                                            {400, "phase"},
		divergence + "&phase=%zz":                                              {400, ""},
		divergence + "&bench=" + long:                                          {400, "bench"},
		"/runs?run=x":                                                          {400, "run"},
		"/compare?problem=B04_eps_mix":                                         {400, "bench"},
		"/compare?problem=.%2F&bench=B00_golden_mix":                           {404, "problem"},
		"/compare?problem=%2Fetc&bench=%2Fetc":                                 {404, "problem"},
		"/compare?problem=B04_eps_mix&bench=B00_golden_mix&steps=x":            {400, "steps"},
		"/tensor?run=B04_eps_mix":                                              {400, "op"},
		"/tensor?run=B04_eps_mix&op=nothing_like_it":                           {404, "op"},
		"/tensor?run=B04_eps_mix&op=Functional.linear.7.forward":               {404, "op"},
		"/tensor/diff?problem=B04_eps_mix&op=Functional.linear.7.forward":      {400, "bench"},
		"/tensor/slice?problem=B04_eps_mix&op=x&rows=0":                        {400, "rows"},
		"/tensor/slice?problem=B04_eps_mix&op=x&columns=257":                   {400, "columns"},
		"/explain?problem=B04_eps_mix&bench=B00_golden_mix":                    {400, "op"},
		"/explain?problem=B04_eps_mix&bench=B00_golden_mix&op=nothing_like_it": {404, "op"},
	} {
		got := get(t, api+path)
		sentence, parameter := problemOf(t, got)
		if got.status != want.status || parameter != want.parameter || len(got.body) > 4000 {
			t.Errorf("%.100s: status %d, parameter %q, want %+v: %.300s", path, got.status, parameter, want, sentence)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
		if got := exchange(t, method, api+"/runs", ""); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != http.MethodGet {
			t.Errorf("%s: status %d, allowed %q", method, got.status, got.header.Get("Allow"))
		}
	}
}
