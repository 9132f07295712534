package api

import (
	"net/http"
	"strings"

	"github.com/tensortap/tensortap/internal/embedded/guard"
)

// contentPolicy lets the page load its own files and ask its own API alone. No script stands within a page.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; " +
	"manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// closed answers to addresses and to localhost, unless tokens are wanted: another name may have been pointed at this machine
// after its page was loaded. It lets nobody in who is no page of its own, and tells browsers what its pages may do.
type closed struct {
	next  http.Handler
	names bool // any name is answered: without a token nobody learns a thing by it
}

// ServeHTTP implements http.Handler.
func (c *closed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", contentPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	if !c.names && !guard.OwnName(r.Host) {
		writeProblem(w, &problemError{Status: http.StatusForbidden, Sentence: "ask by the address of this machine or as localhost: without tokens no other name is answered"})
		return
	}
	if !ownPage(r) {
		writeProblem(w, &problemError{Status: http.StatusForbidden, Sentence: "a page of another site is not answered here"})
		return
	}
	c.next.ServeHTTP(w, r)
}

// ownPage says whether no page, or one that came from here, makes the request; or a person follows a link to the page.
func ownPage(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return followsLink(r)
	}
	origins := r.Header.Values("Origin")
	return len(origins) == 0 || len(origins) == 1 && (origins[0] == "http://"+r.Host || origins[0] == "https://"+r.Host) // TLS may end before this server
}

// followsLink says whether a person's browser goes from another site's page to the page here, which shows nothing by itself.
func followsLink(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" &&
		!strings.HasPrefix(r.URL.Path, "/api/") && len(r.Header.Values("Origin")) == 0
}
