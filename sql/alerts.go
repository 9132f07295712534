package sql

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Rule is an alert rule: one SELECT, of which each row is an alert that should be firing.
type Rule struct {
	Object
	Severity string        // one of Severities
	For      time.Duration // how long a row has to be there before the alert fires
	Labels   []string      // columns that tell an alert from others of the rule
	GroupBy  []string      // of those, the ones that alerts have in common that are sent together
	Says     string        // what is the matter, with {column} in the places of values
	Look     string        // command to look further, likewise
	Example  map[string]string
}

// Title is the name of the rule as people write it.
func (r *Rule) Title() string { return strings.ReplaceAll(r.Name, "_", "-") }

// Takes says whether the query has a parameter of that name.
func (o Object) Takes(parameter string) bool {
	return slices.ContainsFunc(o.Parameters, func(p Parameter) bool { return p.Name == parameter })
}

// Severities are those that a rule may have, the worst last.
func Severities() []string { return []string{"info", "warning", "critical"} }

// Rules returns every alert rule, by name. The caller does not change what is in them.
func Rules() ([]Rule, error) {
	rules, err := parsedRules()
	return slices.Clone(rules), err
}

//nolint:gochecknoglobals // files of the program never change
var parsedRules = sync.OnceValues(func() ([]Rule, error) {
	found, err := objects("alerts")
	if err != nil {
		return nil, err
	}
	rules := make([]Rule, len(found))
	for i := range found {
		if rules[i], err = ruleOf(found[i]); err != nil {
			return nil, fmt.Errorf("parse alerts/%s.sql: %w", found[i].View(), err)
		}
	}
	return rules, nil
})

// ruleOf reads what the head of a rule says beside that of other objects.
func ruleOf(o Object) (Rule, error) {
	r := Rule{Object: o}
	var duration, labels, group, example string
	for _, field := range []struct {
		title string
		into  *string
	}{
		{"Severity", &r.Severity},
		{"For", &duration},
		{"Labels", &labels},
		{"Group by", &group},
		{"Says", &r.Says},
		{"Look", &r.Look},
		{"Example", &example},
	} {
		if *field.into = headLine(o.Query, field.title); *field.into == "" {
			return r, fmt.Errorf("its head has no line %q", "-- "+field.title+": …")
		}
	}
	var err error
	if r.For, err = time.ParseDuration(duration); err != nil {
		return r, fmt.Errorf("for: %w", err)
	}
	r.Labels, r.GroupBy, r.Example = strings.Split(labels, ", "), strings.Split(group, ", "), exampleOf(example)
	return r, r.validate()
}

func headLine(query, title string) string {
	for line := range strings.Lines(query) {
		if rest, found := strings.CutPrefix(line, "-- "+title+": "); found {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// exampleOf reads name=value, name=value; a value may hold commas that no name follows.
func exampleOf(text string) map[string]string {
	example := map[string]string{}
	starts := regexp.MustCompile(`(?:^|, )(\w+)=`).FindAllStringSubmatchIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		example[text[at[2]:at[3]]] = text[at[1]:end]
	}
	return example
}

func (r *Rule) validate() error {
	if !slices.Contains(Severities(), r.Severity) {
		return fmt.Errorf("severity %q: want one of %s", r.Severity, strings.Join(Severities(), ", "))
	}
	for _, column := range r.GroupBy {
		if !slices.Contains(r.Labels, column) {
			return fmt.Errorf("it groups by %s, which is no label", column)
		}
	}
	for _, column := range append(Placeholders(r.Says+r.Look), r.Labels...) {
		if _, given := r.Example[column]; !given {
			return fmt.Errorf("its example has no %s", column)
		}
	}
	return nil
}

// Placeholders are the columns that a text of a rule names in braces.
func Placeholders(text string) []string {
	var names []string
	for _, m := range placeholder().FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// Fill puts values in the places of {column}.
func Fill(text string, value func(column string) string) string {
	return placeholder().ReplaceAllStringFunc(text, func(braced string) string { return value(braced[1 : len(braced)-1]) })
}

//nolint:gochecknoglobals // compiled once
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{(\w+)\}`) })

// RuleByTitle returns one rule, or an error that lists those there are.
func RuleByTitle(title string) (Rule, error) {
	rules, err := Rules()
	if err != nil {
		return Rule{}, err
	}
	titles := make([]string, 0, len(rules))
	for i := range rules {
		if rules[i].Title() == title {
			return rules[i], nil
		}
		titles = append(titles, rules[i].Title())
	}
	return Rule{}, fmt.Errorf("no alert rule is named %q, there are: %s", title, strings.Join(titles, ", "))
}
