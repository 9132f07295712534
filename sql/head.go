package sql

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// parse reads the head of a file: four lines in a fixed order, then its parameters, and which of its columns are shown.
func parse(file, text string) (Object, error) {
	object, err := nameObject(file)
	if err != nil {
		return Object{}, err
	}
	object.Query = text
	lines := strings.Split(text, "\n")
	var reads string
	for i, field := range []struct {
		title string
		into  *string
	}{
		{"Question", &object.Question}, {"Grain", &object.Grain}, {"Reads", &reads}, {"Empty when", &object.EmptyWhen},
	} {
		rest, ok := strings.CutPrefix(lineAt(lines, i), "-- "+field.title+": ")
		if !ok || rest == "" {
			return Object{}, fmt.Errorf("line %d: want %q, got %q", i+1, "-- "+field.title+": …", lineAt(lines, i))
		}
		*field.into = rest
	}
	if !strings.HasPrefix(reads, readsNothing) {
		object.Reads = strings.Split(reads, ", ")
	}
	object.Shown, object.Because = shown(lines), because(lines)
	object.Parameters, err = parameters(lines, text)
	return object, err
}

// readsNothing begins the line of what an object reads that is given all it needs.
const readsNothing = "nothing;"

// shown reads the line of the head that names the columns for people, which reports of many columns have.
func shown(lines []string) []string {
	for _, line := range lines {
		if columns, ok := strings.CutPrefix(line, "-- Shown: "); ok {
			return strings.Split(columns, ", ")
		}
	}
	return nil
}

// because reads the line of the head that names the report to ask where this one has no rows.
func because(lines []string) string {
	for _, line := range lines {
		if report, ok := strings.CutPrefix(line, "-- Empty because: "); ok {
			return report
		}
	}
	return ""
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// nameObject takes layer and name from L1_runs.sql or divergence_report.sql.
func nameObject(file string) (Object, error) {
	name := strings.TrimSuffix(file, ".sql")
	if report, ok := strings.CutSuffix(name, reportSuffix); ok {
		return Object{Name: report, Layer: LayerReport}, nil
	}
	if rule, ok := strings.CutSuffix(name, alertSuffix); ok {
		return Object{Name: rule, Layer: LayerAlert}, nil
	}
	digit, rest, found := strings.Cut(strings.TrimPrefix(name, "L"), "_")
	layer, err := strconv.Atoi(digit)
	if err != nil || !found || layer >= int(LayerReport) {
		return Object{}, fmt.Errorf("name %q: want LN_object.sql with N below %d, or object_report.sql", file, LayerReport)
	}
	return Object{Name: rest, Layer: Layer(layer)}, nil
}

// noText is a default of a parameter that is the empty text.
const noText = "''"

// parameters joins what the head documents with what the query uses: both or neither.
func parameters(lines []string, text string) ([]Parameter, error) {
	types, err := usedTypes(text)
	if err != nil {
		return nil, err
	}
	documented := regexp.MustCompile(`^-- Parameter (\w+)(?: = (\S+))?: (.+)$`)
	var found []Parameter
	for i, line := range lines {
		if !strings.HasPrefix(line, "-- Parameter ") {
			continue
		}
		m := documented.FindStringSubmatch(line)
		if m == nil {
			return nil, fmt.Errorf("line %d: want %q, got %q", i+1, "-- Parameter name = default: what it is.", line)
		}
		if types[m[1]] == "" {
			return nil, fmt.Errorf("line %d: parameter %s is not used, or documented twice", i+1, m[1])
		}
		found = append(found, Parameter{
			Name: m[1], Type: types[m[1]], Doc: m[3],
			Default: strings.TrimPrefix(m[2], noText), Required: m[2] == "",
		})
		delete(types, m[1])
	}
	for name := range types {
		return nil, fmt.Errorf("parameter %s is not documented", name)
	}
	return found, nil
}

// usedTypes returns the type of every {name:Type} outside of comments.
func usedTypes(text string) (map[string]string, error) {
	types := map[string]string{}
	for _, m := range regexp.MustCompile(`\{(\w+):([\w(), ]+)\}`).FindAllStringSubmatch(withoutComments(text), -1) {
		if known := types[m[1]]; known != "" && known != m[2] {
			return nil, fmt.Errorf("parameter %s: used as %s and as %s", m[1], known, m[2])
		}
		types[m[1]] = m[2]
	}
	return types, nil
}

func withoutComments(text string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return strings.HasPrefix(strings.TrimSpace(line), "--")
	})
	return strings.Join(lines, "\n")
}
