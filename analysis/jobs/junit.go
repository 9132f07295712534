package jobs

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxReport is the greatest length of a report within the XML, in bytes: what CI systems show without giving up.
const maxReport = 256 << 10

// JUnit writes the XML that CI systems read: one test case for each pair, which failed where the runs differ, and is in
// error where nothing can be said. Suite names the whole.
func JUnit(to io.Writer, suite string, results []Result) error {
	suites := junitSuites{Suites: []junitSuite{junitOf(clean(suite), results)}}
	if _, err := io.WriteString(to, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(to)
	encoder.Indent("", "  ")
	if err := encoder.Encode(suites); err != nil {
		return fmt.Errorf("write results as JUnit XML: %w", err)
	}
	_, err := io.WriteString(to, "\n")
	return err
}

type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string      `xml:"name,attr"`
	ClassName string      `xml:"classname,attr"`
	Time      string      `xml:"time,attr"`
	Failure   *junitFault `xml:"failure,omitempty"`
	Error     *junitFault `xml:"error,omitempty"`
	Skipped   *junitSkip  `xml:"skipped,omitempty"`
	Output    string      `xml:"system-out,omitempty"`
}

type junitSkip struct {
	Message string `xml:"message,attr"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func junitOf(name string, results []Result) junitSuite {
	suite := junitSuite{Name: name, Tests: len(results)}
	var total float64
	for i := range results {
		one := junitCaseOf(name, &results[i])
		if one.Failure != nil {
			suite.Failures++
		}
		if one.Error != nil {
			suite.Errors++
		}
		if one.Skipped != nil {
			suite.Skipped++
		}
		total += results[i].Elapsed.Seconds()
		suite.Cases = append(suite.Cases, one)
	}
	suite.Time = seconds(total)
	return suite
}

func junitCaseOf(suite string, r *Result) junitCase {
	c := junitCase{Name: clean(r.Name), ClassName: suite, Time: seconds(r.Elapsed.Seconds())}
	report := clean(shortened(r.Report))
	fault := &junitFault{Message: clean(r.Headline()), Type: string(r.Verdict), Text: report}
	switch r.Verdict {
	case Same:
		c.Output = report
	case Differs:
		c.Failure = fault
	case Unknown, Failed:
		c.Error = fault
	case Skipped:
		c.Skipped = &junitSkip{Message: clean(r.Headline())}
	}
	return c
}

func seconds(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// shortened cuts a long report between two lines.
func shortened(report string) string {
	if len(report) <= maxReport {
		return report
	}
	head := report[:maxReport]
	if end := strings.LastIndexByte(head, '\n'); end > 0 {
		head = head[:end+1]
	}
	return head + "…\n"
}

// clean replaces characters that XML cannot hold, or that a terminal would obey.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == 0xFFFE, r == 0xFFFF:
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
