// Package receiver tells people and programs of alerts: Alertmanager, Slack, e-mail, a command.
package receiver

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tensortap/tensortap/analysis/report"
)

// States of an alert.
const (
	Firing   = "firing"
	Resolved = "resolved"
)

// Alert is one alert as receivers are told of it.
type Alert struct {
	Fingerprint string            `json:"fingerprint"` // the same for ever
	Change      uint64            `json:"change"`      // place among its changes: a receiver may be told of one twice
	State       string            `json:"state"`
	Rule        string            `json:"rule"`
	Severity    string            `json:"severity"`
	Labels      map[string]string `json:"labels"`
	Summary     string            `json:"summary"`
	Command     string            `json:"command"`
	Fired       time.Time         `json:"fired"`
	Resolved    time.Time         `json:"resolved,omitzero"`
}

// Notification is what one receiver is told at a time: alerts of one rule that have the labels of their group in common.
type Notification struct {
	Receiver string            `json:"receiver"`
	Rule     string            `json:"rule"`
	Severity string            `json:"severity"`
	Group    map[string]string `json:"group"`
	Alerts   []Alert           `json:"alerts"`
}

// SendTimeout bounds one attempt to tell a receiver.
const SendTimeout = 10 * time.Second

// mostLines bounds the alerts that a text for people has one by one; the others are counted.
const mostLines = 20

// title is the notification in a few words.
func (n *Notification) title() string {
	words := []string{"[" + strings.ToUpper(n.state()) + "]", n.Severity, n.Rule}
	for _, name := range slices.Sorted(maps.Keys(n.Group)) {
		words = append(words, name+"="+n.Group[name])
	}
	return report.Printable(strings.Join(words, " "))
}

// state is resolved once all alerts are.
func (n *Notification) state() string {
	if slices.ContainsFunc(n.Alerts, func(a Alert) bool { return a.State == Firing }) {
		return Firing
	}
	return Resolved
}

// line is one alert for people.
func (a *Alert) line() string {
	if a.State == Resolved {
		return "resolved " + clock(a.Resolved) + ", fired " + clock(a.Fired) + ": " + a.Summary
	}
	return "fired " + clock(a.Fired) + ": " + a.Summary
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
