package guard

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
)

// authenticate returns the user whose password the request carries, and whether there is one.
func (g *Guard) authenticate(r *http.Request) (string, bool) {
	user, password := credentials(r)
	// Both are compared always, so that the time taken reveals nothing.
	owner := equal(user, Owner) & equal(password, g.cfg.OwnerPassword)
	reader := equal(user, Reader) & equal(password, g.cfg.ReaderPassword)
	switch {
	case owner == 1:
		return Owner, true
	case reader == 1:
		return Reader, true
	default:
		return "", false
	}
}

// equal compares in constant time, whatever the lengths.
func equal(got, want string) int {
	a, b := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:])
}

// credentials takes the first that is there, of ClickHouse's three ways: its headers, Basic, query parameters.
func credentials(r *http.Request) (user, password string) {
	if user = r.Header.Get("X-Clickhouse-User"); user != "" {
		return user, r.Header.Get("X-Clickhouse-Key")
	}
	if user, password, ok := r.BasicAuth(); ok {
		return user, password
	}
	return parameter(r.URL.RawQuery, "user"), parameter(r.URL.RawQuery, "password")
}

// parameter returns a query's first parameter of that name, empty if there is none. As ClickHouse reads a query, only
// & separates, so that a ; in an SQL text is text; url.ParseQuery would refuse it.
func parameter(query, wanted string) string {
	for part := range strings.SplitSeq(query, "&") {
		if name, value, _ := strings.Cut(part, "="); unescape(name) == wanted {
			return unescape(value)
		}
	}
	return ""
}

func unescape(text string) string {
	plain, err := url.QueryUnescape(text)
	if err != nil {
		return text
	}
	return plain
}

// withoutCredentials removes user and password from a query and leaves the rest as it was, byte for byte.
func withoutCredentials(query string) string {
	kept := make([]string, 0, strings.Count(query, "&")+1)
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		if name = unescape(name); name != "user" && name != "password" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "&")
}
