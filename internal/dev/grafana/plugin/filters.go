package plugin

import (
	"fmt"
	"regexp"
	"strings"
)

// filter applies ad-hoc filters: where $__adHocFilters('table') stands, or else behind the query, as a setting that a user
// who only reads may not change.
func (r Request) filter(text string) (string, error) {
	condition := r.condition()
	macro := regexp.MustCompile(`\$__adHocFilters\s*\(([^)]+)\)`)
	if macro.MatchString(text) {
		return macro.ReplaceAllStringFunc(text, func(match string) string { return filterSetting(tableNames(match), condition) }), nil
	}
	if condition == "" {
		return text, nil
	}
	table := regexp.MustCompile(`(?i)\bFROM\s+([\w.]+)`).FindStringSubmatch(text)
	if table == nil {
		return text, nil
	}
	if strings.Contains(table[1], "(") {
		return "", fmt.Errorf("ad-hoc filters need the name of a table, got %s", table[1])
	}
	return strings.Replace(text, ";", "", 1) + " settings " + filterSetting(table[1:], condition), nil
}

func tableNames(macro string) []string {
	var names []string
	for _, m := range regexp.MustCompile(`['"]([^'"]+)['"]`).FindAllStringSubmatch(macro, -1) {
		names = append(names, m[1])
	}
	return names
}

func filterSetting(tables []string, condition string) string {
	if condition == "" {
		return "additional_table_filters={}"
	}
	entries := make([]string, 0, len(tables))
	for _, table := range tables {
		entries = append(entries, "'"+table+"': '"+condition+"'")
	}
	return "additional_table_filters={" + strings.Join(entries, ", ") + "}"
}

// condition is that of all filters. It stands within a text, so its quotes are escaped; those in a value are not.
func (r Request) condition() string {
	parts := make([]string, 0, len(r.Filters))
	for _, f := range r.Filters {
		operator, value := f.Operator, `\'`+f.Value+`\'`
		switch operator {
		case "=~":
			operator = "REGEXP"
		case "!~":
			operator = "NOT REGEXP"
		case "IN":
			value = "(" + strings.ReplaceAll(strings.Trim(f.Value, "()"), "'", `\'`) + ")"
		}
		parts = append(parts, " "+f.Key+" "+operator+" "+value+" ")
	}
	return strings.Join(parts, "AND")
}
