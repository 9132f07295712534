package guard

import (
	"context"
	"net/http"
	"testing"
)

func TestConnectionsEndWhileTheEngineIsAway(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	cfg.OwnerPassword, cfg.ReaderPassword = "owner's", "reader's"
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	address, err := g.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(Owner, cfg.OwnerPassword)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	if answer.StatusCode != http.StatusServiceUnavailable || !answer.Close {
		t.Errorf("status %d, the connection is closed: %v, want 503 and closed", answer.StatusCode, answer.Close)
	}
}
