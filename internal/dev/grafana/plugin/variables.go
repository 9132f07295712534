package plugin

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// named is how Grafana finds variables: $name, [[name:format]], ${name.field:format}.
func named() *regexp.Regexp {
	return regexp.MustCompile(`\$(\w+)|\[\[(\w+?)(?::(\w+))?\]\]|\$\{(\w+)(?:\.([^:^}]+))?(?::([^}]+))?\}`)
}

// substitute puts the values of variables in. A name that is no variable stays as it is.
func (r Request) substitute(text string) (string, error) {
	var wrong error
	text = named().ReplaceAllStringFunc(text, func(match string) string {
		m := named().FindStringSubmatch(match)
		values, known := r.values(m[1] + m[2] + m[4])
		if !known {
			return match
		}
		formatted, err := format(values, m[3]+m[6])
		if err != nil {
			wrong = fmt.Errorf("variable %s: %w", match, err)
		}
		return formatted
	})
	return text, wrong
}

// values are those of a variable of the dashboard, or of one that Grafana has itself.
func (r Request) values(name string) ([]string, bool) {
	switch name {
	case "__from":
		return []string{strconv.FormatInt(r.From.UnixMilli(), 10)}, true
	case "__to":
		return []string{strconv.FormatInt(r.To.UnixMilli(), 10)}, true
	case "__interval_ms":
		return []string{strconv.FormatInt(r.Interval.Milliseconds(), 10)}, true
	default:
		values, known := r.Variables[name]
		return values, known
	}
}

// format is the form that stands behind the colon. Without one, the data source puts several values in quotes.
func format(values []string, form string) (string, error) {
	switch form {
	case "":
		if len(values) == 1 {
			return values[0], nil
		}
		return "'" + strings.Join(values, "','") + "'", nil
	case "singlequote":
		return quoted(values, `'`, `\'`), nil
	case "doublequote":
		return quoted(values, `"`, `\"`), nil
	case "sqlstring":
		return quoted(values, `'`, `''`), nil
	case "csv", "raw":
		return strings.Join(values, ","), nil
	case "percentencode":
		if len(values) == 1 {
			return percentEncoded(values[0]), nil
		}
		return percentEncoded("{" + strings.Join(values, ",") + "}"), nil
	default:
		return "", fmt.Errorf("form %q is not known here", form)
	}
}

func quoted(values []string, quote, escaped string) string {
	all := make([]string, 0, len(values))
	for _, v := range values {
		all = append(all, quote+strings.ReplaceAll(v, quote, escaped)+quote)
	}
	return strings.Join(all, ",")
}

// percentEncoded is JavaScript's encodeURIComponent, with the rest of RFC 3986's reserved characters.
func percentEncoded(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}
