package api

import (
	"net/http"
	"slices"
	"strings"
)

// route is one thing that can be asked.
type route struct {
	method, path string // the path may end with {name}
	title        string
	doc          string
	parameters   []parameter
	formats      []string // of the answer, the first by default; JSON alone where there are none
	answer       http.HandlerFunc
}

// routes are all that ask the system.
func (a *API) routes() []route {
	all := []route{
		{
			method: http.MethodGet, path: root + "/reports", title: "Reports that can be asked", answer: a.handle(a.listReports),
			doc: "Each with its question, its parameters and its columns.",
		},
		{
			method: http.MethodGet, path: root + "/compare", title: "Whether two runs differ, and where the difference begins", parameters: compareParameters(), answer: a.handle(a.ask(a.compare)),
			doc: "The answer of `tensortap compare PROBLEM BENCH --output json`. The comparison is stored, as by the command.",
		},
		{
			method: http.MethodGet, path: root + "/explain", title: "One op of two runs: inputs, outputs and verdicts", parameters: explainParameters(), answer: a.handle(a.ask(a.explain)),
			doc: "The answer of `tensortap explain --output json`.",
		},
	}
	return append(all, a.reportRoutes()...)
}

// byPath are the handlers of each path, which refuse other methods.
func byPath(routes []route) map[string]http.Handler {
	handlers := map[string]methods{}
	for i := range routes {
		r := &routes[i]
		if handlers[r.path] == nil {
			handlers[r.path] = methods{}
		}
		handlers[r.path][r.method] = r.answer
	}
	paths := make(map[string]http.Handler, len(handlers))
	for path, m := range handlers {
		paths[path] = m
	}
	return paths
}

// methods are those of one path.
type methods map[string]http.HandlerFunc

// ServeHTTP implements http.Handler.
func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if answer, known := m[method]; known {
		answer(w, r)
		return
	}
	var allowed []string
	for name := range m {
		allowed = append(allowed, name)
	}
	slices.Sort(allowed)
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeProblem(w, &problem{Status: http.StatusMethodNotAllowed, Sentence: "this path takes " + strings.Join(allowed, " and ") + " alone"})
}
