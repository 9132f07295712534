package receiver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/receivers"
)

// startAlertmanager runs one with the file of deploy.
func startAlertmanager(t *testing.T) string {
	t.Helper()
	config, err := filepath.Abs("../../../deploy/alertmanager/alertmanager.yml")
	if err != nil {
		t.Fatal(err)
	}
	return receivers.StartAlertmanager(t, config)
}

func ask(ctx context.Context, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	if into != nil {
		return json.NewDecoder(response.Body).Decode(into)
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

func TestARealAlertmanagerTakesAlertsOnceAndTheirEnd(t *testing.T) {
	t.Parallel()
	url := startAlertmanager(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	m := &Alertmanager{URLs: []string{url}, Now: time.Now}
	n := told()
	for i := range n.Alerts {
		n.Alerts[i].Fired, n.Alerts[i].State, n.Alerts[i].Resolved = time.Now().Add(-time.Minute), Firing, time.Time{}
	}
	for range 3 { // as who was killed before it noted the first, and then refreshes
		if err := m.Send(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	var active []struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
		Receivers   []struct{ Name string }
	}
	if err := ask(t.Context(), url+"/api/v2/alerts?active=true", &active); err != nil || len(active) != 2 {
		t.Fatalf("%d alerts are active, want 2: %v", len(active), err)
	}
	for _, a := range active {
		if a.Labels["alertname"] != "rank-silent" || a.Labels["severity"] != "critical" || a.Labels["run"] != "nightly <!here>" || a.Annotations["summary"] == "" || a.Receivers[0].Name != "critical" {
			t.Errorf("%+v", a)
		}
	}
	n.Alerts[0].State, n.Alerts[0].Resolved = Resolved, time.Now().Add(-time.Second)
	if err := m.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if err := ask(t.Context(), url+"/api/v2/alerts?active=true", &active); err != nil || len(active) != 1 || active[0].Labels["rank"] != "4" {
		t.Errorf("after one was resolved: %+v, %v", active, err)
	}
}
