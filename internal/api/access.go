package api

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tensortap/tensortap/internal/tokens"
)

// cookieName is the cookie by which a browser shows the token of the page.
const cookieName = "tensortap_token"

// Access says who is answered.
type Access struct {
	Tokens *tokens.File // nil where the user of this machine who started the server is answered, and nobody else
	Secure bool         // requests come by TLS
}

type contextKey int

const (
	bearerKey contextKey = iota
	peerKey
)

// withPeer remembers of a connection who has its other end, which is found out by its first request.
func withPeer(ctx context.Context, connection net.Conn) context.Context {
	return context.WithValue(ctx, peerKey, sync.OnceValue(func() error { return ofThisUser(connection) }))
}

// bearerOf is who asks; the user of this machine has no name.
func bearerOf(r *http.Request) tokens.Bearer {
	bearer, _ := r.Context().Value(bearerKey).(tokens.Bearer)
	return bearer
}

// check finds out who asks.
func (c *Access) check(r *http.Request) (tokens.Bearer, error) {
	if c.Tokens == nil {
		return tokens.Bearer{Role: tokens.Operator}, peerOf(r)
	}
	token := tokenOf(r)
	if token == "" {
		return tokens.Bearer{}, unauthorized("a token is wanted: Authorization: Bearer TOKEN, of tensortap token new")
	}
	return c.bearer(token)
}

func (c *Access) bearer(token string) (tokens.Bearer, error) {
	bearer, err := c.Tokens.Bearer(token)
	switch {
	case errors.Is(err, tokens.ErrUnknown):
		return bearer, unauthorized("this token is not known here, or not any more")
	case err != nil:
		return bearer, &problemError{Status: http.StatusServiceUnavailable, Sentence: "who may ask is not known just now: " + err.Error()}
	}
	return bearer, nil
}

// peerOf refuses other users of this machine.
func peerOf(r *http.Request) error {
	ofPeer, known := r.Context().Value(peerKey).(func() error)
	if !known {
		return &problemError{Status: http.StatusForbidden, Sentence: "it is not known who asks"}
	}
	if err := ofPeer(); err != nil {
		return &problemError{Status: http.StatusForbidden, Sentence: err.Error()}
	}
	return nil
}

func unauthorized(sentence string) *problemError {
	return &problemError{Status: http.StatusUnauthorized, Sentence: sentence}
}

// tokenOf is the token that a request shows, by its header or by the page's cookie.
func tokenOf(r *http.Request) string {
	if scheme, token, found := strings.Cut(r.Header.Get("Authorization"), " "); found && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	if cookie, err := r.Cookie(cookieName); err == nil {
		return cookie.Value
	}
	return ""
}

// known answers those alone who may ask.
func (a *API) known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bearer, err := a.cfg.Access.check(r)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), bearerKey, bearer)))
	})
}

// login gives a browser the cookie of a token.
func (a *API) login(w http.ResponseWriter, r *http.Request) error {
	var given struct {
		Token string `json:"token"`
	}
	if err := a.readBody(w, r, &given); err != nil {
		return err
	}
	if a.cfg.Access.Tokens == nil {
		return wrong("token", "no token is wanted here")
	}
	bearer, err := a.cfg.Access.bearer(given.Token)
	if err != nil {
		return err
	}
	http.SetCookie(w, a.cookie(given.Token, 0))
	return a.tellWho(w, bearer)
}

func (a *API) logout(w http.ResponseWriter, r *http.Request) error {
	if err := a.readBody(w, r, &struct{}{}); err != nil {
		return err
	}
	const gone = -1
	http.SetCookie(w, a.cookie("", gone))
	return writeJSON(w, object{})
}

// cookie ends with the browser. No script reads it, and no other site's page makes a request with it.
func (a *API) cookie(token string, age int) *http.Cookie {
	return &http.Cookie{Name: cookieName, Value: token, Path: "/", MaxAge: age, HttpOnly: true, Secure: a.cfg.Access.Secure, SameSite: http.SameSiteStrictMode}
}

// who says who asks, and what for they may.
func (a *API) who(w http.ResponseWriter, r *http.Request) error { return a.tellWho(w, bearerOf(r)) }

func (a *API) tellWho(w http.ResponseWriter, bearer tokens.Bearer) error {
	return writeJSON(w, object{
		"version": a.cfg.Version, "name": bearer.Name, "role": bearer.Role, "token": a.cfg.Access.Tokens != nil,
		"control": bearer.Role == tokens.Operator && a.cfg.Control,
	})
}

// Limits of what is sent to the API.
const (
	longestBody = 1 << 20
	bodyFor     = 30 * time.Second
)

// readBody reads a request of JSON. A page of another site cannot send that type without being asked for leave.
func (a *API) readBody(w http.ResponseWriter, r *http.Request, into any) error {
	if media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";"); strings.TrimSpace(media) != "application/json" {
		return &problemError{Status: http.StatusUnsupportedMediaType, Sentence: "send JSON, with Content-Type: application/json"}
	}
	limits := http.NewResponseController(w)
	_ = limits.SetReadDeadline(a.cfg.Now().Add(bodyFor)) // a connection that has none is a test's
	defer limits.SetReadDeadline(time.Time{})            //nolint:errcheck // likewise
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, longestBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		if long := (*http.MaxBytesError)(nil); errors.As(err, &long) {
			return &problemError{Status: http.StatusRequestEntityTooLarge, Sentence: "the request has more than 1 MiB, the limit"}
		}
		return wrong("", "read the request: %v", err)
	}
	if decoder.More() {
		return wrong("", "read the request: there is more behind its object")
	}
	return nil
}
