package objectstore

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"testing"
)

// forward hands requests on as they are: their signatures cover the name of the host.
func forward(tb testing.TB, address string) http.Handler {
	tb.Helper()
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: address})
			r.Out.Host = r.In.Host
		},
	}
}
