package guard

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log" //nolint:depguard // net/http takes its logger in this form only
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
)

// Engine says how to reach the engine and how to log in to it.
type Engine struct {
	// Dial opens a connection to the engine.
	Dial func(ctx context.Context) (*net.TCPConn, error)
	// OwnerPassword and ReaderPassword are the engine's own, and secret.
	OwnerPassword, ReaderPassword string
	// Key is the secret without which the engine answers nobody, whoever they say they are.
	Key string
}

// KeyHeader is the header of a request to the engine that carries its key.
const KeyHeader = "X-Tensortap-Key"

// LogIn makes a request that of the engine's owner.
func (e Engine) LogIn(request *http.Request) { e.logIn(request.Header, Owner, e.OwnerPassword) }

func (e Engine) logIn(header http.Header, user, password string) {
	header.Set(KeyHeader, e.Key)
	header.Set("X-Clickhouse-User", user)
	header.Set("X-Clickhouse-Key", password)
}

// upstream is one start of the engine, with a proxy for each of the guard's users.
type upstream map[string]*httputil.ReverseProxy

// Point sends requests to engine from now on; nil says that there is none at the moment.
func (g *Guard) Point(engine *Engine) {
	if engine == nil {
		g.engine.Store(nil)
		return
	}
	g.engine.Store(&upstream{
		Owner:  newProxy(*engine, Owner, engine.OwnerPassword),
		Reader: newProxy(*engine, Reader, engine.ReaderPassword),
	})
}

func newProxy(engine Engine, user, password string) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:     exchange{engine: engine},
		FlushInterval: -1, // results and progress pass as they come
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  answerFailure,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", engineHost, engineHost
			r.Out.URL.RawQuery = withQueryID(withoutCredentials(r.In.URL.RawQuery))
			r.Out.Close = true // see exchange
			for _, name := range notForwarded() {
				r.Out.Header.Del(name)
			}
			engine.logIn(r.Out.Header, user, password)
		},
	}
}

// withQueryID gives a query that has no id one, so that it can be killed.
func withQueryID(query string) string {
	if parameter(query, "query_id") != "" {
		return query
	}
	return strings.TrimPrefix(query+"&query_id="+rand.Text(), "&")
}

// notForwarded lists headers that ClickHouse would take for a credential, and headers of this connection
// only.
func notForwarded() []string {
	return []string{
		"Authorization", "X-Clickhouse-User", "X-Clickhouse-Key", "X-Clickhouse-Ssl-Certificate-Auth", "X-Clickhouse-Jwt-Token", "Cookie",
		"Connection", "Upgrade", "Expect",
	}
}

// answerFailure separates requests that were surely not sent, which may be tried again, from doubtful
// ones.
func answerFailure(w http.ResponseWriter, _ *http.Request, err error) {
	if errors.Is(err, errUnreached) {
		unavailable(w)
		return
	}
	http.Error(w, "tensortap: "+broke+"; whether it executed the request is not known: "+err.Error(),
		http.StatusBadGateway)
}
