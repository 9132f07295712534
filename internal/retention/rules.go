package retention

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tensortap/tensortap/internal/strictyaml"
)

// Rules say how long runs stay. Of those whose pattern fits the name of a run the first counts; a run that none fits stays.
type Rules []Rule

// Rule is one of them.
type Rule struct {
	Runs  string                   // as path.Match takes it
	After map[string]time.Duration // since the last event of the run: when each part of it goes; what is not here stays
	Line  int                      // in the file

	Spools time.Duration // since anybody wrote there: when what nobody published goes from its host; 0 for never
}

// ages are the keys of a rule, and which part of a run goes then: in the order of what stays the shortest.
func ages() []struct{ key, part string } {
	return []struct{ key, part string }{
		{"delete_payloads_after", Payloads}, {"delete_logs_after", Logs}, {"keep_only_verdicts_after", Details}, {"delete_after", Whole},
	}
}

// spoolsAge is the key of the age of spools. They lie on their hosts, and go without a decision about their run.
const spoolsAge = "delete_spools_after"

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
	rule := Rule{Line: node.Line(), After: map[string]time.Duration{}}
	names := []string{"runs", spoolsAge}
	for _, age := range ages() {
		names = append(names, age.key)
	}
	keys, err := node.Keys(names...)
	if err != nil {
		return rule, err
	}
	if rule.Runs, err = parsePattern(node, keys["runs"]); err != nil {
		return rule, err
	}
	longest := time.Duration(0)
	for _, age := range ages() {
		if keys[age.key].IsZero() {
			continue
		}
		after, err := parseAge(keys[age.key])
		if err != nil {
			return rule, err
		}
		if after < longest && age.part != Logs {
			return rule, keys[age.key].Errorf("%s is sooner than a part of what goes then: want delete_after last, and keep_only_verdicts_after before it", age.key)
		}
		rule.After[age.part], longest = after, max(longest, after)
	}
	if node := keys[spoolsAge]; !node.IsZero() {
		rule.Spools, err = parseAge(node)
	}
	return rule, err
}

func parsePattern(rule, runs strictyaml.Node) (string, error) {
	if runs.IsZero() {
		return "", rule.Errorf("the rule names no runs: want runs: PATTERN, as nightly-* or *")
	}
	pattern, err := runs.Text()
	if err != nil {
		return "", err
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return "", runs.Errorf("%q is no pattern: * stands for any characters, ? for one, [a-z] for a range", pattern)
	}
	return pattern, nil
}

// parseAge reads days, hours or minutes.
func parseAge(node strictyaml.Node) (time.Duration, error) {
	text, err := node.Text()
	if err != nil {
		return 0, err
	}
	const most = 100 * 365
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute} {
		digits, ok := strings.CutSuffix(text, suffix)
		if n, err := strconv.ParseUint(digits, 10, 16); ok && err == nil && n > 0 && n <= most {
			return time.Duration(n) * unit, nil //nolint:gosec // 16 bits
		}
	}
	return 0, node.Errorf("%q is no age: want days, hours or minutes, 1 to %d, as 30d, 12h or 90m", text, most)
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

// Going is when each part of a run goes whose last event was then.
func (r Rules) Going(run string, last time.Time) map[string]time.Time {
	goes := map[string]time.Time{}
	if rule := r.Of(run); rule != nil {
		for part, after := range rule.After {
			goes[part] = last.Add(after)
		}
	}
	return goes
}

// SpoolGoes is when a spool of a run goes that was last written to then, if nobody serves it; false where it stays.
func (r Rules) SpoolGoes(run string, touched time.Time) (at time.Time, goes bool) {
	rule := r.Of(run)
	if rule == nil || rule.Spools == 0 {
		return at, false
	}
	return touched.Add(rule.Spools), true
}

// Spools says whether a rule is about spools.
func (r Rules) Spools() bool {
	return slices.ContainsFunc(r, func(rule Rule) bool { return rule.Spools > 0 })
}
