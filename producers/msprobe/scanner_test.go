package msprobe

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
)

// tokens is the whole text as words, or the error.
func tokens(input io.Reader) string {
	var out []string
	scan := newScanner(input)
	for {
		t, err := scan.next()
		if err != nil {
			return strings.Join(append(out, err.Error()), " ")
		}
		switch t {
		case tokenEnd:
			return strings.Join(out, " ")
		case tokenKey:
			out = append(out, string(scan.unescape(nil))+":")
		case tokenString:
			out = append(out, fmt.Sprintf("%q", scan.unescape(nil)))
		case tokenNumber:
			out = append(out, fmt.Sprint(float(scan.text())))
		case tokenObject, tokenObjectEnd, tokenArray, tokenArrayEnd, tokenTrue, tokenFalse, tokenNull:
			out = append(out, []string{"", "{", "}", "[", "]", "", "", "", "true", "false", "null"}[t])
		}
	}
}

func TestScannerReadsWhatPythonWrites(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": [1, -2.5e3, true, false, null]}`:           `{ a: [ 1 -2500 true false null ] }`,
		`[NaN, Infinity, -Infinity, -0, 0.0]`:             `[ NaN +Inf -Inf -0 0 ]`,
		`[1e999, -1e999, 1e-999]`:                         `[ +Inf -Inf 0 ]`,
		`[9007199254740993, 12345678901234567890123]`:     `[ 9.007199254740992e+15 1.2345678901234568e+22 ]`,
		`["\u00e9\ud83d\ude00\n\\\"\/\b\f\r\t"]`:          `[ "é😀\n\\\"/\b\f\r\t" ]`,
		`["\ud800", "\ud800x", "\udc00\ud800", "\uZZZZ"]`: `[ "�" "�x" "��" "�ZZZZ" ]`,
		"[\"\xff\"]":             `[ "�" ]`,
		`""`:                     `""`,
		` 1 `:                    `1`,
		`{}`:                     `{ }`,
		`[[],{}]`:                `[ [ ] { } ]`,
		`{"":""}`:                `{ : "" }`,
		``:                       errCut.Error(),
		`{"a"`:                   "{ " + errCut.Error(),
		`[1`:                     "[ 1 " + errCut.Error(),
		`[1 2]`:                  "[ 1 neither a comma nor the end of an array at byte 3",
		`[1,]`:                   "[ 1 no value where one must stand at byte 3",
		`{"a":1,}`:               "{ a: 1 no key where one must stand at byte 7",
		`{"a" 1}`:                "{ no colon after a key at byte 5",
		`{"a":1]`:                "{ a: 1 neither a comma nor the end of an object at byte 6",
		`[}`:                     "[ no value where one must stand at byte 1",
		`1 2`:                    "1 text after the end of the document at byte 2",
		`]`:                      "no value where one must stand at byte 0",
		`[-]`:                    "[ a number without digits at byte 2",
		`[1e]`:                   "[ a number without digits at byte 3",
		`[nul]`:                  "[ no value where one must stand at byte 4",
		`[-Infinitx]`:            "[ no value where one must stand at byte 9",
		"[\"a\nb\"]":             "[ a control character in a string at byte 3",
		strings.Repeat("[", 401): strings.Repeat("[ ", 401) + errCut.Error(),
		"\ufeff{}":               "no value where one must stand at byte 0",
	} {
		if got := tokens(strings.NewReader(text)); got != want {
			t.Errorf("%.60q =\n %.200s, want\n %.200s", text, got, want)
		}
		if got := tokens(iotest.OneByteReader(strings.NewReader(text))); got != want {
			t.Errorf("%.60q byte by byte =\n %.200s, want\n %.200s", text, got, want)
		}
	}
}

func TestScannerReportsAFailingInput(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk gone")
	input := io.MultiReader(strings.NewReader(`{"a": "b`), iotest.ErrReader(broken))
	if got := tokens(input); !strings.HasSuffix(got, broken.Error()) {
		t.Errorf("tokens = %q, want the input's error", got)
	}
}

func TestScannerKeepsItsWindowSmall(t *testing.T) {
	t.Parallel()
	text := `["` + strings.Repeat("x", 64<<20) + `", {"k": 1}]`
	scan := newScanner(strings.NewReader(text))
	for {
		tok, err := scan.next()
		if err != nil {
			t.Fatal(err)
		}
		if tok == tokenEnd {
			break
		}
	}
	if cap(scan.buf) > 8<<20 || scan.overlong < 0 {
		t.Errorf("window of %d bytes, overlong at %d; want at most 8 MiB, noted", cap(scan.buf), scan.overlong)
	}
}

func TestElementsGuardsAgainstOverflow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shape []int64
		want  uint64
	}{
		{nil, 1},
		{[]int64{0}, 0},
		{[]int64{-1}, 0},
		{[]int64{3, 4}, 12},
		{[]int64{math.MaxInt64, 2}, math.MaxUint64 - 1},
		{[]int64{math.MaxInt64, 3}, math.MaxUint64},
		{[]int64{math.MaxInt64, math.MaxInt64, 0}, 0},
	} {
		if got := elements(c.shape); got != c.want {
			t.Errorf("elements(%v) = %d, want %d", c.shape, got, c.want)
		}
	}
}
