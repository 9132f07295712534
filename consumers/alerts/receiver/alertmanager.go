package receiver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// RefreshEvery is how often an Alertmanager is told again of what fires. It takes an alert for resolved of which it hears
// nothing for refreshLife.
const (
	RefreshEvery = time.Minute
	refreshLife  = 5 * RefreshEvery
)

// Alertmanager posts alerts in the form of Alertmanager's API v2. Of a cluster, every member is told.
type Alertmanager struct {
	URLs  []string
	Login Login
	Now   func() time.Time
}

// posted is postableAlert of Alertmanager's OpenAPI.
type posted struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

func (m *Alertmanager) posted(a *Alert) posted {
	labels := maps.Clone(a.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels["alertname"], labels["severity"] = a.Rule, a.Severity
	ends := a.Resolved
	if a.State == Firing {
		ends = m.Now().Add(refreshLife)
	}
	return posted{
		Labels:      labels,
		Annotations: map[string]string{"summary": a.Summary, "command": a.Command, "fingerprint": a.Fingerprint},
		StartsAt:    a.Fired.UTC(), EndsAt: ends.UTC(),
	}
}

func (m *Alertmanager) body(n *Notification) ([]byte, error) {
	alerts := make([]posted, len(n.Alerts))
	for i := range n.Alerts {
		alerts[i] = m.posted(&n.Alerts[i])
	}
	return json.MarshalIndent(alerts, "", "  ")
}

// Send posts the alerts to every member; it is an error if none of them takes it.
func (m *Alertmanager) Send(ctx context.Context, n Notification) error {
	body, err := m.body(&n)
	if err != nil {
		return err
	}
	var failed []error
	for _, url := range m.URLs {
		if err := post(ctx, strings.TrimRight(url, "/")+"/api/v2/alerts", body, m.Login); err != nil {
			failed = append(failed, fmt.Errorf("alertmanager %s: %w", withoutSecrets(url), err))
		}
	}
	if len(failed) < len(m.URLs) {
		return nil
	}
	return errors.Join(failed...)
}

// Preview is what would be posted.
func (m *Alertmanager) Preview(n Notification) (string, error) {
	body, err := m.body(&n)
	return string(body), err
}

// Where names the members.
func (m *Alertmanager) Where() string {
	names := make([]string, len(m.URLs))
	for i, url := range m.URLs {
		names[i] = withoutSecrets(url) + "/api/v2/alerts"
	}
	return "alertmanager " + strings.Join(names, ", ")
}
