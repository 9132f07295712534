package guard

import (
	"net"
	"net/http"
	"net/netip"
)

// fromOwnPages refuses what a browser sends for a page of another site, whatever it asks for: a page that knows a password, or
// whose visitor is logged in here, must neither write nor read. A page whose name was pointed at this machine after it
// was loaded (DNS rebinding) is its browser's own site, so only the name betrays it: an address cannot be pointed elsewhere.
func fromOwnPages(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !OwnName(r.Host) || !ownPage(r) {
			http.Error(w, "tensortap: a page of another site, or another name than localhost or an address, is not answered here.",
				http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// OwnName says whether the host, with or without a port, is an address or localhost.
func OwnName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost"
}

// ownPage says whether no page, or one that came from here, makes the request.
func ownPage(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
	default:
		return false
	}
	origins := r.Header.Values("Origin")
	return len(origins) == 0 || len(origins) == 1 && origins[0] == "http://"+r.Host
}
