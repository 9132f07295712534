package retention

import (
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/tensortap/tensortap/internal/strictyaml"
)

// Rules say how long runs stay. Of those whose pattern fits the name of a run the first counts; a run that none fits stays.
type Rules []Rule

// Rule is one of them.
type Rule struct {
	Runs        string        // as path.Match takes it
	DeleteAfter time.Duration // since the last event of the run; 0: it stays
	Line        int           // in the file
}

// mostRules bounds a file of rules.
const mostRules = 1000

// ReadRules reads a file of rules.
func ReadRules(file string) (Rules, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the rules of retention: %w", err)
	}
	return ParseRules(file, text)
}

// ParseRules reads rules; name is the file's, for errors.
func ParseRules(name string, text []byte) (Rules, error) {
	root, err := strictyaml.Parse(name, text)
	if err != nil {
		return nil, err
	}
	keys, err := root.Keys("rules")
	if err != nil {
		return nil, err
	}
	list := keys["rules"]
	if list.IsZero() {
		return nil, root.Errorf("it has no rules: want a list under rules")
	}
	nodes, err := list.List()
	if err != nil {
		return nil, err
	}
	if len(nodes) > mostRules {
		return nil, list.Errorf("%d rules are more than %d", len(nodes), mostRules)
	}
	rules := make(Rules, len(nodes))
	for i, node := range nodes {
		if rules[i], err = parseRule(node); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

func parseRule(node strictyaml.Node) (Rule, error) {
	rule := Rule{Line: node.Line()}
	keys, err := node.Keys("runs", "delete_after")
	if err != nil {
		return rule, err
	}
	runs := keys["runs"]
	if runs.IsZero() {
		return rule, node.Errorf("the rule names no runs: want runs: PATTERN, as nightly-* or *")
	}
	if rule.Runs, err = runs.Text(); err != nil {
		return rule, err
	}
	if _, err := path.Match(rule.Runs, ""); err != nil {
		return rule, runs.Errorf("%q is no pattern: * stands for any characters, ? for one, [a-z] for a range", rule.Runs)
	}
	if after := keys["delete_after"]; !after.IsZero() {
		rule.DeleteAfter, err = parseAge(after)
	}
	return rule, err
}

// parseAge reads days or hours.
func parseAge(node strictyaml.Node) (time.Duration, error) {
	text, err := node.Text()
	if err != nil {
		return 0, err
	}
	const most = 100 * 365
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour} {
		digits, ok := strings.CutSuffix(text, suffix)
		if n, err := strconv.ParseUint(digits, 10, 16); ok && err == nil && n > 0 && n <= most {
			return time.Duration(n) * unit, nil //nolint:gosec // 16 bits
		}
	}
	return 0, node.Errorf("%q is no age: want days or hours, 1 to %d, as 30d or 12h", text, most)
}

// Of is the rule of a run; nil where none fits.
func (r Rules) Of(run string) *Rule {
	for i := range r {
		if fits, _ := path.Match(plain(r[i].Runs), plain(run)); fits {
			return &r[i]
		}
	}
	return nil
}

// plain makes a slash a character like others.
func plain(text string) string { return strings.ReplaceAll(text, "/", "\x00") }

// Goes says when a run goes whose last event was then; false: it stays.
func (r Rules) Goes(run string, last time.Time) (time.Time, bool) {
	rule := r.Of(run)
	if rule == nil || rule.DeleteAfter == 0 {
		return time.Time{}, false
	}
	return last.Add(rule.DeleteAfter), true
}
