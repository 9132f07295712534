package report

import (
	"fmt"
	"math"
	"strings"
)

// Hang is one row of the report hang, in a sentence.
type Hang struct {
	Key      string // the same as long as it is the same call
	Sentence string
	Live     bool // ranks that live wait in it, or ranks differ; not as a program that is over has left it
}

// Hangs are the rows of the report hang.
func Hangs(rows Table) []Hang {
	hangs := make([]Hang, len(rows.Rows))
	for i := range rows.Rows {
		get := func(column string) string { return rows.Get(i, column).Exact }
		waited := rows.Get(i, "waited_seconds").Number
		hangs[i] = Hang{
			Key:      strings.Join([]string{get("process_group"), get("group_seq"), get("problem")}, "\x1f"),
			Sentence: sentence(get, waited),
			Live:     waited > 0 || get("problem") == "other call",
		}
	}
	return hangs
}

func sentence(get func(string) string, waited float64) string {
	call := fmt.Sprintf("%s, call %s of group %s", get("name"), get("group_seq"), get("process_group"))
	since := ""
	if waited > 0 {
		since = fmt.Sprintf(" for %.0f s", math.Floor(waited))
	}
	where := ""
	if frame, _, _ := strings.Cut(get("user_frame"), "\n"); frame != "" {
		where = ", in " + strings.TrimPrefix(strings.TrimRight(frame, ", "), "File ")
	}
	switch get("problem") {
	case "other call":
		return fmt.Sprintf("ranks differ in %s: %s%s", call, get("different"), where)
	case "not arrived":
		return fmt.Sprintf("%s did not come to %s; waiting%s: %s%s; %s", ranks(get("missing_ranks")), call, since, ranks(get("waiting_ranks")), where, get("missing_are"))
	}
	return fmt.Sprintf("%s is not complete at %s%s%s, though all came", call, ranks(get("waiting_ranks")), since, where)
}

// ranks are rank 2, or ranks 0 1.
func ranks(list string) string {
	if strings.Contains(list, " ") {
		return "ranks " + list
	}
	return "rank " + list
}
