package api

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tensortap/tensortap/sql"
)

// parameter is one of a request's query.
type parameter struct {
	sql.Parameter
	Many   bool     // it may be given several times
	Values []string // those that it may have; all of its type where there are none
}

// longestValue bounds the text of a parameter, in bytes. Names of ops and runs are far shorter.
const longestValue = 20_000

// given are the values of a request by parameter, each checked.
type given map[string][]string

// one is the value of a parameter, or its default.
func (g given) one(p parameter) string {
	if values := g[p.Name]; len(values) > 0 {
		return values[0]
	}
	return p.Default
}

// readQuery checks what is asked against what can be asked.
func readQuery(r *http.Request, known []parameter) (given, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, wrong("", "read the query: %v", err)
	}
	values := given{}
	for name, texts := range query {
		at := slices.IndexFunc(known, func(p parameter) bool { return p.Name == name })
		if at < 0 {
			return nil, wrong(shortName(name), "there is no parameter %s here: want %s", shortened(name), names(known))
		}
		if values[name], err = known[at].read(texts); err != nil {
			return nil, err
		}
	}
	for i := range known {
		if p := &known[i]; p.Required && (len(values[p.Name]) == 0 || values[p.Name][0] == "") {
			return nil, wrong(p.Name, "parameter %s is missing: %s", p.Name, p.Doc)
		}
	}
	return values, nil
}

// shortName is the name of a parameter as an answer has it in a field of its own.
func shortName(name string) string {
	const most = 100
	name = strings.ToValidUTF8(name, "?")
	if utf8.RuneCountInString(name) > most {
		name = string([]rune(name)[:most]) + "…"
	}
	return name
}

func names(known []parameter) string {
	list := make([]string, len(known))
	for i := range known {
		list[i] = known[i].Name
	}
	return strings.Join(list, ", ")
}

// read checks the values of a parameter.
func (p *parameter) read(texts []string) ([]string, error) {
	if len(texts) > 1 && !p.Many {
		return nil, wrong(p.Name, "parameter %s is given %d times: want it once", p.Name, len(texts))
	}
	values := make([]string, len(texts))
	for i, text := range texts {
		value, err := p.value(text)
		if err != nil {
			return nil, wrong(p.Name, "parameter %s is %s: %v", p.Name, shortened(text), err)
		}
		values[i] = value
	}
	return values, nil
}

// value is the text as the database reads the type.
func (p *parameter) value(text string) (string, error) {
	switch {
	case len(text) > longestValue:
		return "", fmt.Errorf("it has %d bytes, the limit is %d", len(text), longestValue)
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", errors.New("want text in UTF-8 without a zero byte")
	case len(p.Values) > 0 && !slices.Contains(p.Values, text):
		return "", fmt.Errorf("want one of %s", strings.Join(p.Values, ", "))
	case strings.HasPrefix(p.Type, "Float"):
		number, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(number) {
			return "", errors.New("want a number")
		}
		return strconv.FormatFloat(number, 'g', -1, 64), nil
	case strings.HasPrefix(p.Type, "UInt"), strings.HasPrefix(p.Type, "Int"):
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil || number < p.least() {
			return "", fmt.Errorf("want a whole number, %d or more", p.least())
		}
		return strconv.FormatInt(number, 10), nil
	case p.Type == boolean:
		is, err := strconv.ParseBool(text)
		if err != nil {
			return "", errors.New("want true or false")
		}
		return strconv.FormatBool(is), nil
	}
	return text, nil
}

// boolean is a type that no report has.
const boolean = "Bool"

// least is the least number that a parameter can mean: of a rank -1, where that is its default.
func (p *parameter) least() int64 {
	switch {
	case strings.HasPrefix(p.Type, "UInt"):
		return 0
	case p.Name != "rank":
		return math.MinInt64
	case p.Default == "-1":
		return -1
	}
	return 0
}
