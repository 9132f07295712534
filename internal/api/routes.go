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
	media        string   // of the answer, where it is neither JSON nor a table
	body         object   // schema of what is sent; nil where nothing is
	unknown      bool     // who asks needs no token
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
			method: http.MethodGet, path: root + "/share", title: "A comparison as one file of HTML, with its page", parameters: compareParameters(), answer: a.handle(a.ask(a.share)), media: "text/html",
			doc: "The answer of `tensortap compare PROBLEM BENCH --output html`: a browser opens it without a server.",
		},
		{
			method: http.MethodGet, path: root + "/explain", title: "One op of two runs: inputs, outputs and verdicts", parameters: explainParameters(), answer: a.handle(a.ask(a.explain)),
			doc: "The answer of `tensortap explain --output json`.",
		},
	}
	return slices.Concat(all, a.tensorRoutes(), a.reportRoutes(), a.bearerRoutes(), a.controlRoutes(), []route{{
		method: http.MethodGet, path: livePath, title: "Changes as they come, as server-sent events", answer: a.handle(a.live), media: "text/event-stream",
		doc: "An event `change` each second at most, with data {\"changed\": [of runs, verdicts, progress, alerts], \"sequence\": how far the stream is}; \"away\": true while the stream does not answer. What is not taken in time becomes one event.",
	}, {
		method: http.MethodPost, path: root + "/sql", title: "A question in SQL, by a user who only reads", answer: a.handle(a.ask(a.sql)), body: sqlSchema(), formats: formats(),
		doc: "The tables are in database tap_store, the views for people in tap.",
	}})
}

// bearerRoutes are about who asks.
func (a *API) bearerRoutes() []route {
	return []route{
		{
			method: http.MethodGet, path: root + "/who", title: "Who asks, and what for they may", answer: a.handle(a.who),
			doc: "Name and role are those of the token. Where no token is wanted (`token` is false), the user who started the server is an operator without a name.",
		},
		{
			method: http.MethodPost, path: root + "/login", title: "Show a token once, and have a cookie", answer: a.handle(a.login), unknown: true,
			doc: "For browsers: the answer sets a cookie that no script reads. Programs send the header Authorization: Bearer TOKEN.", body: object{
				"type": "object", "required": []string{"token"}, "properties": object{"token": object{"type": "string"}},
			},
		},
		{
			method: http.MethodPost, path: root + "/logout", title: "Have the cookie removed", answer: a.handle(a.logout), unknown: true, body: object{"type": "object"},
		},
	}
}

// byPath are the handlers of each path, which refuse other methods.
func (a *API) byPath(routes []route) map[string]http.Handler {
	handlers := map[string]methods{}
	for i := range routes {
		r := &routes[i]
		if handlers[r.path] == nil {
			handlers[r.path] = methods{}
		}
		handlers[r.path][r.method] = r.answer
		if !r.unknown {
			handlers[r.path][r.method] = a.known(r.answer)
		}
	}
	paths := make(map[string]http.Handler, len(handlers))
	for path, m := range handlers {
		paths[path] = m
	}
	return paths
}

// methods are those of one path.
type methods map[string]http.Handler

// ServeHTTP implements http.Handler.
func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if answer, known := m[method]; known {
		answer.ServeHTTP(w, r)
		return
	}
	var allowed []string
	for name := range m {
		allowed = append(allowed, name)
	}
	slices.Sort(allowed)
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeProblem(w, &problemError{Status: http.StatusMethodNotAllowed, Sentence: "this path takes " + strings.Join(allowed, " and ") + " alone"})
}
