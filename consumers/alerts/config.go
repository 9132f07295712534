package alerts

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tensortap/tensortap/consumers/alerts/receiver"
	"github.com/tensortap/tensortap/internal/strictyaml"
	"github.com/tensortap/tensortap/sql"
)

// Config says which rules are asked how often, and who is told.
type Config struct {
	Every     time.Duration     // between two looks at least
	Keep      time.Duration     // an alert stays until its condition was gone for so long; see damped
	Labels    map[string]string // that every alert has beside its own
	Receivers []Target
	Rules     []Rule // that are asked
}

// Target is a receiver by its name in the configuration.
type Target struct {
	Name  string
	Rules []string // it is told of; of all where empty
	Receiver
}

// Receiver tells people or programs of alerts. Its calls may overlap.
type Receiver interface {
	sender
	// Preview is what would be sent.
	Preview(n receiver.Notification) (string, error)
	// Where says to whom, without secrets.
	Where() string
}

// Rule is a rule of sql/alerts with what the configuration says of it.
type Rule struct {
	sql.Rule
	Extra      map[string]string // labels
	Parameters map[string]string // of its query
}

// DefaultConfig asks all rules and tells nobody: alerts are only stored.
func DefaultConfig() (Config, error) {
	rules, err := sql.Rules()
	cfg := Config{Every: 15 * time.Second, Keep: time.Minute}
	for i := range rules {
		cfg.Rules = append(cfg.Rules, Rule{Rule: rules[i]})
	}
	return cfg, err
}

// Outside is what a configuration refers to beside itself.
type Outside struct {
	Getenv   func(string) string
	ReadFile func(string) ([]byte, error)
	Now      func() time.Time
}

// Read reads a file of configuration; name is the file's, for errors, which have its line.
func Read(name string, text []byte, outside Outside) (Config, error) {
	cfg, err := DefaultConfig()
	if err != nil {
		return cfg, err
	}
	root, err := strictyaml.Parse(name, text)
	if err != nil {
		return cfg, err
	}
	keys, err := root.Keys("every", "labels", "receivers", "rules")
	if err != nil {
		return cfg, err
	}
	r := reader{outside: outside}
	return cfg, errors.Join(
		optional(keys["every"], func(n strictyaml.Node) (err error) { cfg.Every, err = duration(n, time.Second); return err }),
		optional(keys["labels"], func(n strictyaml.Node) (err error) { cfg.Labels, err = labels(n); return err }),
		optional(keys["receivers"], func(n strictyaml.Node) (err error) { cfg.Receivers, err = r.receivers(n); return err }),
		optional(keys["rules"], func(n strictyaml.Node) (err error) { cfg.Rules, err = rules(n, cfg.Rules); return err }),
	)
}

// reader reads a file of configuration.
type reader struct{ outside Outside }

func optional(n strictyaml.Node, read func(strictyaml.Node) error) error {
	if n.IsZero() {
		return nil
	}
	return read(n)
}

func duration(n strictyaml.Node, least time.Duration) (time.Duration, error) {
	text, err := n.Text()
	if err != nil {
		return 0, err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least {
		return 0, n.Errorf("want a time of %s or more, as 15s or 2m, not %q", least, text)
	}
	return d, nil
}

// labelName is what Alertmanager takes for one.
const labelName = `^[a-zA-Z_][a-zA-Z0-9_]*$`

func labels(n strictyaml.Node) (map[string]string, error) {
	fields, err := n.Fields()
	if err != nil {
		return nil, err
	}
	found := make(map[string]string, len(fields))
	for _, f := range fields {
		name, err := matching(f.Key, labelName)
		if err != nil {
			return nil, err
		}
		if slices.Contains([]string{"alertname", "severity", "rule"}, name) {
			return nil, f.Key.Errorf("label %q is taken: every alert has it", name)
		}
		if found[name], err = f.Value.Text(); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func matching(n strictyaml.Node, pattern string) (string, error) {
	text, err := n.Text()
	if err == nil && !regexp.MustCompile(pattern).MatchString(text) {
		err = n.Errorf("%q does not match %s", text, pattern)
	}
	return text, err
}

// rules applies what the file says of rules to those that there are.
func rules(n strictyaml.Node, all []Rule) ([]Rule, error) {
	titles := make([]string, len(all))
	for i := range all {
		titles[i] = all[i].Title()
	}
	keys, err := n.Keys(titles...)
	if err != nil {
		return nil, err
	}
	asked := all[:0]
	for i := range all {
		rule, off := all[i], false
		if node := keys[rule.Title()]; !node.IsZero() {
			if off, err = rule.configure(node); err != nil {
				return nil, err
			}
		}
		if !off {
			asked = append(asked, rule)
		}
	}
	return asked, nil
}

func (r *Rule) configure(n strictyaml.Node) (off bool, err error) {
	keys, err := n.Keys("off", "severity", "for", "labels", "parameters")
	if err != nil {
		return false, err
	}
	return off, errors.Join(
		optional(keys["off"], func(n strictyaml.Node) (err error) { off, err = n.Bool(); return err }),
		optional(keys["severity"], func(n strictyaml.Node) (err error) { r.Severity, err = severity(n); return err }),
		optional(keys["for"], func(n strictyaml.Node) (err error) { r.For, err = duration(n, 0); return err }),
		optional(keys["labels"], func(n strictyaml.Node) (err error) { r.Extra, err = labels(n); return err }),
		optional(keys["parameters"], func(n strictyaml.Node) (err error) { r.Parameters, err = r.parameters(n); return err }),
	)
}

func severity(n strictyaml.Node) (string, error) {
	text, err := n.Text()
	if err == nil && !slices.Contains(sql.Severities(), text) {
		err = n.Errorf("severity %q: want one of %s", text, strings.Join(sql.Severities(), ", "))
	}
	return text, err
}

// given are the parameters that the role itself sets.
func given() []string { return []string{"run", "current", "now_ns", sinceLook, "consumers", "disks"} }

// measured says whether the rule is about what the role measures, and not about what the tables know.
func (r *Rule) measured() bool { return r.Takes("consumers") || r.Takes("disks") }

func (r *Rule) parameters(n strictyaml.Node) (map[string]string, error) {
	var known []string
	for _, p := range r.Object.Parameters {
		if !slices.Contains(given(), p.Name) {
			known = append(known, p.Name)
		}
	}
	keys, err := n.Keys(known...)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(keys))
	for name, node := range keys {
		if values[name], err = r.number(name, node); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (r *Rule) number(name string, n strictyaml.Node) (string, error) {
	place := slices.IndexFunc(r.Object.Parameters, func(p sql.Parameter) bool { return p.Name == name })
	if strings.Contains(r.Object.Parameters[place].Type, "Int") {
		whole, err := n.Int(0, math.MaxInt64)
		return strconv.FormatInt(whole, 10), err
	}
	if !n.IsNumber() {
		return "", n.Errorf("parameter %s of rule %s: want a number", name, r.Title())
	}
	return n.Text()
}

// Rule is the rule of that name, or an error that lists those that are asked.
func (c *Config) Rule(title string) (*Rule, error) {
	for i := range c.Rules {
		if c.Rules[i].Title() == title {
			return &c.Rules[i], nil
		}
	}
	if _, err := sql.RuleByTitle(title); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("rule %s is off in the configuration", title)
}

// Tells says whether the receiver is told of a rule.
func (t *Target) Tells(rule string) bool { return len(t.Rules) == 0 || slices.Contains(t.Rules, rule) }

func (t *Target) String() string { return fmt.Sprintf("%s (%s)", t.Name, t.Where()) }
