package api

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/sql"
)

// formats are those of tables, the first by default. Arrow is a stream here, which can be read as it comes.
func formats() []string {
	return []string{string(report.JSON), string(report.ArrowStream), string(report.CSV), string(report.Parquet)}
}

// mediaTypes are those of the formats.
func mediaTypes() map[report.Format]string {
	return map[report.Format]string{
		report.JSON: "application/json; charset=utf-8", report.ArrowStream: "application/vnd.apache.arrow.stream",
		report.CSV: "text/csv; charset=utf-8; header=present", report.Parquet: "application/vnd.apache.parquet",
	}
}

// arrowName is the format of Arrow as requests name it.
const arrowName = "arrow"

func formatParameter() parameter {
	return parameter{
		Parameter: sql.Parameter{Name: "format", Type: "String", Default: string(report.JSON), Doc: "Format of the answer; without it the header Accept says it."},
		Values:    []string{string(report.JSON), arrowName, string(report.CSV), string(report.Parquet)},
	}
}

// formatOf is what the request asks for: by its parameter, else by the first type in Accept that there is.
func formatOf(r *http.Request, values given) (report.Format, error) {
	if texts := values["format"]; len(texts) > 0 {
		if texts[0] == arrowName {
			return report.ArrowStream, nil
		}
		return report.Format(texts[0]), nil
	}
	for media := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		media, _, _ = strings.Cut(strings.TrimSpace(media), ";")
		if media == "" || strings.HasSuffix(media, "/*") {
			return report.JSON, nil
		}
		for _, name := range formats() {
			format := report.Format(name)
			if known, _, _ := strings.Cut(mediaTypes()[format], ";"); known == media {
				return format, nil
			}
		}
	}
	return "", &problemError{Status: http.StatusNotAcceptable, Sentence: "there is no answer of the types in the header Accept: want one of " + strings.Join(acceptable(), ", ")}
}

func acceptable() []string {
	var types []string
	for _, media := range mediaTypes() {
		media, _, _ = strings.Cut(media, ";")
		types = append(types, media)
	}
	slices.Sort(types)
	return types
}

// describe says in the header what the answer is.
func describe(w http.ResponseWriter, format report.Format) {
	header := w.Header()
	header.Set("Content-Type", mediaTypes()[format])
	header.Add("Vary", "Accept")
	if format == report.CSV || format == report.Parquet {
		header.Set("Content-Disposition", `attachment; filename="answer.`+string(format)+`"`)
	}
}

// Limits of what is told of gaps in a header.
const (
	mostGaps    = 20
	longestGaps = 6000 // bytes
)

// tellGaps says in the header Tensortap-Incomplete, as a JSON list of ASCII, what is missing of the answer.
func tellGaps(w http.ResponseWriter, gaps []string) {
	gaps = slices.Compact(gaps)
	if len(gaps) == 0 {
		return
	}
	shown := make([]string, 0, mostGaps)
	size := 0
	for _, gap := range gaps {
		text := asJSON(shortGap(gap))
		if size += len(text); len(shown) == mostGaps || size > longestGaps {
			shown = append(shown, `"and more"`)
			break
		}
		shown = append(shown, text)
	}
	w.Header().Set("Tensortap-Incomplete", "["+strings.Join(shown, ",")+"]")
}

func shortGap(gap string) string {
	const most = 500
	if runes := []rune(gap); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return gap
}

// asJSON is a text in JSON that has no other bytes than printable ASCII.
func asJSON(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil { // a string always has a form
		return `""`
	}
	var ascii strings.Builder
	for _, r := range string(quoted) {
		if r < 0x7f {
			ascii.WriteRune(r)
			continue
		}
		ascii.WriteString(escaped(r))
	}
	return ascii.String()
}
