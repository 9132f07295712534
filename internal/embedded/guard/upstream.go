package guard

import (
	"errors"
	"io"
	"log" //nolint:depguard // net/http takes its logger in this form only
	"net"
	"net/http"
	"net/http/httputil"
	"time"
)

// Engine says where the engine listens and how to log in to it.
type Engine struct {
	// Address is host:port.
	Address string
	// OwnerPassword and ReaderPassword are the engine's own, known to nobody else.
	OwnerPassword, ReaderPassword string
}

// upstream is one start of the engine: a connection pool, and a proxy for each user.
type upstream struct {
	transport *http.Transport
	proxies   map[string]*httputil.ReverseProxy
}

// Point sends requests to engine from now on; nil says that there is none at the moment.
func (g *Guard) Point(engine *Engine) {
	var next *upstream
	if engine != nil {
		next = newUpstream(*engine)
	}
	if last := g.engine.Swap(next); last != nil {
		last.transport.CloseIdleConnections()
	}
}

func newUpstream(engine Engine) *upstream {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	transport := &http.Transport{ // no Proxy: the environment's must not come between
		DialContext:         dialer.DialContext,
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     20 * time.Second, // less than the engine's keep_alive_timeout
		DisableCompression:  true,             // bodies pass as they are
		WriteBufferSize:     64 << 10,         // a usual header leaves in one piece
		ReadBufferSize:      64 << 10,
	}
	return &upstream{transport: transport, proxies: map[string]*httputil.ReverseProxy{
		Owner:  newProxy(transport, engine.Address, Owner, engine.OwnerPassword),
		Reader: newProxy(transport, engine.Address, Reader, engine.ReaderPassword),
	}}
}

func newProxy(transport *http.Transport, address, user, password string) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1, // results and progress pass as they come
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  answerFailure,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", address, address
			r.Out.URL.RawQuery = withoutCredentials(r.In.URL.RawQuery)
			removeCredentials(r.Out.Header)
			r.Out.Header.Set("X-Clickhouse-User", user)
			r.Out.Header.Set("X-Clickhouse-Key", password)
			r.Out.Header.Del("Upgrade")
			r.Out.Header.Del("Connection")
		},
	}
}

// answerFailure tells apart what was surely not sent, which may be tried again, from what is in doubt.
func answerFailure(w http.ResponseWriter, _ *http.Request, err error) {
	var failed *net.OpError
	if errors.As(err, &failed) && failed.Op == "dial" {
		unavailable(w)
		return
	}
	http.Error(w, "tensortap: the connection to the ClickHouse engine broke; whether it executed the request is not known: "+err.Error(),
		http.StatusBadGateway)
}
