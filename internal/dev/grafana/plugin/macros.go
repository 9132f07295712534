package plugin

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// macros expands every macro of the data source, those within the arguments of others first. Text in quotes stays.
func (r Request) macros(text string) (string, error) {
	var expanded strings.Builder
	for i := 0; i < len(text); {
		if end := quotedEnd(text, i); end > i {
			expanded.WriteString(text[i:end])
			i = end
			continue
		}
		name := regexp.MustCompile(`^\$__(\w+)`).FindStringSubmatch(text[i:])
		if name == nil {
			expanded.WriteByte(text[i])
			i++
			continue
		}
		i += len(name[0])
		arguments, end, err := bracketed(text, i)
		if err != nil {
			return "", err
		}
		i = end
		meaning, err := r.macro(name[1], arguments)
		if err != nil {
			return "", err
		}
		expanded.WriteString(meaning)
	}
	return expanded.String(), nil
}

// quotedEnd is the end of the text or name in quotes that begins at i; i itself if none does.
func quotedEnd(text string, i int) int {
	quote := text[i]
	if quote != '\'' && quote != '"' && quote != '`' {
		return i
	}
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case quote:
			return j + 1
		}
	}
	return len(text)
}

// withoutComments removes -- to the end of the line, and /* to */.
func withoutComments(text string) string {
	var kept strings.Builder
	for i := 0; i < len(text); {
		end := quotedEnd(text, i)
		switch {
		case end > i:
			kept.WriteString(text[i:end])
			i = end
		case strings.HasPrefix(text[i:], "--"):
			i = past(text, i, "\n") - 1
		case strings.HasPrefix(text[i:], "/*"):
			i = past(text, i, "*/")
		default:
			kept.WriteByte(text[i])
			i++
		}
	}
	return kept.String()
}

func past(text string, from int, end string) int {
	if at := strings.Index(text[from:], end); at >= 0 {
		return from + at + len(end)
	}
	return len(text) + 1
}

// bracketed are the arguments in the brackets that begin at i, split at commas that stand in no other brackets or quotes.
func bracketed(text string, i int) (found []string, end int, err error) {
	if i >= len(text) || text[i] != '(' {
		return nil, i, nil
	}
	depth, begin := 0, i+1
	for ; i < len(text); i++ {
		if quoted := quotedEnd(text, i); quoted > i {
			i = quoted - 1
			continue
		}
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if text[i] == ',' && depth == 1 || depth == 0 {
			found = append(found, strings.TrimSpace(text[begin:i]))
			begin = i + 1
		}
		if depth == 0 {
			return found, i + 1, nil
		}
	}
	return nil, 0, errors.New("a macro's bracket has no end")
}

// macro is what one stands for, its arguments being expanded first.
func (r Request) macro(name string, arguments []string) (string, error) {
	for i := range arguments {
		var err error
		if arguments[i], err = r.macros(arguments[i]); err != nil {
			return "", err
		}
	}
	wants, write := r.meaning(name)
	if write == nil {
		return "", fmt.Errorf("macro $__%s is not known here", name)
	}
	if wants > 0 && len(arguments) != wants {
		return "", fmt.Errorf("macro $__%s wants %d arguments, got %d", name, wants, len(arguments))
	}
	return write(arguments), nil
}

func seconds(t time.Time) string { return fmt.Sprintf("toDateTime(%d)", t.Unix()) }
func millis(t time.Time) string  { return fmt.Sprintf("fromUnixTimestamp64Milli(%d)", t.UnixMilli()) }
func date(t time.Time) string    { return "toDate('" + t.Format("2006-01-02") + "')" }

func between(column, from, to string) string {
	return column + " >= " + from + " AND " + column + " <= " + to
}

// meaning is how many arguments a macro takes, and what it writes of them.
func (r Request) meaning(name string) (wants int, write func([]string) string) {
	fixed := func(text string) func([]string) string { return func([]string) string { return text } }
	switch name {
	case "fromTime":
		return 0, fixed(seconds(r.From))
	case "toTime":
		return 0, fixed(seconds(r.To))
	case "fromTime_ms":
		return 0, fixed(millis(r.From))
	case "toTime_ms":
		return 0, fixed(millis(r.To))
	case "interval_s":
		return 0, fixed(fmt.Sprint(r.interval()))
	case "timeFilter":
		return 1, func(a []string) string { return between(a[0], seconds(r.From), seconds(r.To)) }
	case "timeFilter_ms":
		return 1, func(a []string) string { return between(a[0], millis(r.From), millis(r.To)) }
	case "dateFilter":
		return 1, func(a []string) string { return between(a[0], date(r.From), date(r.To)) }
	case "dateTimeFilter", "dt":
		return 2, func(a []string) string {
			return "(" + between(a[0], date(r.From), date(r.To)) + ") AND (" + between(a[1], seconds(r.From), seconds(r.To)) + ")"
		}
	case "timeFrom":
		return 1, func(a []string) string { return a[0] + " >= " + seconds(r.From) }
	case "timeTo":
		return 1, func(a []string) string { return a[0] + " <= " + seconds(r.To) }
	case "timeInterval":
		return 1, func(a []string) string {
			return fmt.Sprintf("toStartOfInterval(toDateTime(%s), INTERVAL %d second)", a[0], r.interval())
		}
	case "timeInterval_ms":
		return 1, func(a []string) string {
			return fmt.Sprintf("toStartOfInterval(toDateTime64(%s, 3), INTERVAL %d millisecond)", a[0], max(r.Interval.Milliseconds(), 1))
		}
	default:
		return 0, nil
	}
}

// interval is the time between two points in whole seconds, 1 at least.
func (r Request) interval() int64 { return int64(max(r.Interval.Seconds(), 1)) }
