package guard_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/embedded/guard"
)

// serve runs a guard without an engine: who is let in is told 503.
func serve(t *testing.T) (address string) {
	t.Helper()
	cfg := guard.DefaultConfig()
	cfg.OwnerPassword, cfg.ReaderPassword = "owner's", "reader's"
	door, err := guard.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	address, err = door.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- door.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return address
}

func TestGuardAnswersNoPageOfAnotherSite(t *testing.T) {
	t.Parallel()
	const in = http.StatusServiceUnavailable
	address := serve(t)
	for _, c := range []struct {
		name, host string // host as address, when empty
		header     map[string]string
		want       int
	}{
		{"a program", "", nil, in},
		{"a program by name", "localhost", nil, in},
		{"a program through a tunnel", "localhost:9000", nil, in},
		{"a program by another address", "[::1]:8123", nil, in},
		{"its own page", "", map[string]string{"Origin": "http://" + address, "Sec-Fetch-Site": "same-origin"}, in},
		{"a bookmark", "", map[string]string{"Sec-Fetch-Site": "none"}, in},
		{"another site", "", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"another port", "", map[string]string{"Sec-Fetch-Site": "same-site"}, http.StatusForbidden},
		{"an unknown relation", "", map[string]string{"Sec-Fetch-Site": "Same-Origin "}, http.StatusForbidden},
		{"a foreign origin", "", map[string]string{"Origin": "http://evil.example"}, http.StatusForbidden},
		{"a file", "", map[string]string{"Origin": "null"}, http.StatusForbidden},
		{"its own origin over TLS", "", map[string]string{"Origin": "https://" + address}, http.StatusForbidden},
		{"a rebound name", "evil.example:8123", map[string]string{"Origin": "http://evil.example:8123", "Sec-Fetch-Site": "same-origin"}, http.StatusForbidden},
		{"a rebound name without an origin", "evil.example", nil, http.StatusForbidden},
		{"a name that ends like ours", "localhost.evil.example", nil, http.StatusForbidden},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPost} {
			if got := ask(t, method, address, c.host, c.header); got != c.want {
				t.Errorf("%s: %s: got %d, want %d", c.name, method, got, c.want)
			}
		}
	}
}

func ask(t *testing.T, method, address, host string, header map[string]string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+address+"/?query=SELECT+1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(guard.Reader, "reader's")
	request.Host = host
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}
