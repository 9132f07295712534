// Package receivers runs for tests what alerts are sent to: a mail server, and Debian's Alertmanager.
package receivers

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// StartAlertmanager runs Debian's Alertmanager with a file of configuration until the test ends, and returns its URL. Without
// it the test is skipped, or fails where services are required.
func StartAlertmanager(tb testing.TB, config string) string {
	tb.Helper()
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		testbed.Needed(tb, "no prometheus-alertmanager is installed (Debian's package of that name)")
	}
	address := testbed.FreeAddress(tb)
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), program, "--config.file="+config, "--storage.path="+tb.TempDir(), "--web.listen-address="+address, "--cluster.listen-address=") //nolint:gosec // Debian's
	log, err := os.Create(filepath.Join(tb.TempDir(), "log"))
	if err != nil {
		tb.Fatal(err)
	}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(time.Minute); !isReady(tb.Context(), "http://"+address+"/-/ready"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			said, _ := os.ReadFile(log.Name())
			tb.Fatalf("Alertmanager is not ready:\n%s", said)
		}
	}
	return "http://" + address
}

func isReady(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	return err == nil && response.Body.Close() == nil && response.StatusCode == http.StatusOK
}
