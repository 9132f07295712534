package msprobecsv_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// result says how far one file of ours is msProbe's.
type result struct {
	name           string
	rows, matched  int  // of theirs
	surplus        int  // of ours
	sameBytes      bool // of the whole file
	byResult       map[string]int
	differences    []string
	sameHeader     bool
	header, wanted []string
}

// hold compares two files row by row, in their order.
func hold(name string, got, want []byte) result {
	ours, theirs := lines(got), lines(want)
	r := result{
		name: name, rows: len(theirs) - 1, sameBytes: bytes.Equal(got, want), byResult: map[string]int{},
		header: ours[0], wanted: theirs[0], sameHeader: slices.Equal(ours[0], theirs[0]),
	}
	r.surplus = max(len(ours)-len(theirs), 0)
	column := slices.Index(theirs[0], "Result")
	for i, row := range theirs[1:] {
		r.byResult[row[column]]++
		if i+1 >= len(ours) {
			r.differences = append(r.differences, fmt.Sprintf("row %d: missing %s", i, row[0]))
			continue
		}
		if r.row(ours[i+1], row) {
			r.matched++
		}
	}
	return r
}

// row says whether a row is the same, and notes why not.
func (r *result) row(ours, theirs []string) bool {
	if len(ours) != len(theirs) {
		r.differences = append(r.differences, fmt.Sprintf("%s: %d cells, want %d", theirs[0], len(ours), len(theirs)))
		return false
	}
	same := true
	for i, cell := range theirs {
		if sameCell(ours[i], cell) {
			continue
		}
		same = false
		r.differences = append(r.differences, fmt.Sprintf("%s, %s: %q, want %q", theirs[0], r.wanted[i], ours[i], cell))
	}
	return same
}

// sameCell allows numbers the last digits of a sum that was added in another order.
func sameCell(ours, theirs string) bool {
	if ours == theirs {
		return true
	}
	a, err := strconv.ParseFloat(strings.TrimSuffix(ours, "%"), 64)
	b, err2 := strconv.ParseFloat(strings.TrimSuffix(theirs, "%"), 64)
	if err != nil || err2 != nil || strings.HasSuffix(ours, "%") != strings.HasSuffix(theirs, "%") || math.IsInf(b, 0) {
		return false // also where an infinity would be near enough to anything
	}
	return math.Abs(a-b) <= 1e-6*math.Abs(b)
}

// judge fails for what differs and for a page that says otherwise.
func judge(t *testing.T, results []result) {
	t.Helper()
	rows, matched := 0, 0
	for _, r := range results {
		t.Logf("%s: %d of %d rows, bytes same: %t", r.name, r.matched, r.rows, r.sameBytes)
		rows, matched = rows+r.rows, matched+r.matched
		if !r.sameHeader {
			t.Errorf("%s: columns %q, want %q", r.name, r.header, r.wanted)
		}
		if r.surplus > 0 {
			t.Errorf("%s: %d rows more than msProbe has", r.name, r.surplus)
		}
		for i, d := range r.differences {
			if i < 12 {
				t.Errorf("%s: %s", r.name, d)
			}
		}
	}
	t.Logf("all: %d of %d rows", matched, rows)
	comparePage(t, results)
}

func comparePage(t *testing.T, results []result) {
	t.Helper()
	want := pageOf(results)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(page)
	if err != nil || string(got) != want {
		t.Errorf("%s (%v)\n%s\nwant\n%s\nrun this test with -update and read what changes", page, err, got, want)
	}
}
