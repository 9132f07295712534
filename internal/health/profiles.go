package health

import (
	"net/http"
	"net/http/pprof"
)

// profiles are Go's own, but for that of the command line: a server's password may stand there.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.Handle("GET /debug/pprof/cmdline", http.NotFoundHandler())
	return mux
}
