package api

import (
	"net/http"
	"sync/atomic"
)

// Counts are of all requests so far, and of those who listen now.
type Counts struct{ Requests, Refused, Failed, Listeners uint64 }

// counters count requests by what they got.
type counters struct{ requests, refused, failed atomic.Uint64 }

// Counts is how much was asked.
func (a *API) Counts() Counts {
	return Counts{a.counters.requests.Load(), a.counters.refused.Load(), a.counters.failed.Load(), uint64(a.crowd.count())} //nolint:gosec // not negative
}

// seen counts a request by its status.
func (c *counters) seen(status int) {
	c.requests.Add(1)
	switch {
	case status >= http.StatusInternalServerError:
		c.failed.Add(1)
	case status >= http.StatusBadRequest:
		c.refused.Add(1)
	}
}

// noting knows the status of an answer.
type noting struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (n *noting) WriteHeader(status int) {
	n.status = status
	n.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (n *noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }
