package lines_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tensortap/tensortap/producers/internal/lines"
)

func TestEachGivesLinesTheirPlaceAndWhetherTheyAreWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", lines.Longest+1<<20)
	content := "a\n\n  \n" + long + "\nb\nlast"
	var got []lines.Line
	err := lines.Each(strings.NewReader(content), 100, func(l lines.Line) error {
		if l.TooLong {
			l.Text = nil
		} else if l.Err() != nil {
			t.Error(l.Err())
		}
		l.Text = []byte(string(l.Text))
		got = append(got, l)
		return nil
	})
	if err != nil || len(got) != 4 {
		t.Fatalf("%+v %v", got, err)
	}
	after := int64(100 + len(content) - len("b\nlast"))
	for i, want := range []lines.Line{
		{Text: []byte("a"), From: 100, Whole: true},
		{From: 106, Whole: true, TooLong: true},
		{Text: []byte("b"), From: after, Whole: true},
		{Text: []byte("last"), From: after + 2},
	} {
		g := got[i]
		if string(g.Text) != string(want.Text) || g.From != want.From || g.Whole != want.Whole || g.TooLong != want.TooLong {
			t.Errorf("line %d: %+v, want %+v", i, g, want)
		}
	}
}

func TestEachEndsWithTheErrorOfItsUser(t *testing.T) {
	t.Parallel()
	stop := errors.New("enough")
	if err := lines.Each(strings.NewReader("a\nb\n"), 0, func(lines.Line) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func TestQuoteIsShortAndText(t *testing.T) {
	t.Parallel()
	if got := lines.Quote([]byte("a\xff" + strings.Repeat("b", 200))); len(got) > 100 || !strings.HasPrefix(got, `"a?bb`) || !strings.HasSuffix(got, `…"`) {
		t.Error(got)
	}
}

func TestEachEndsWithTheErrorOfItsReader(t *testing.T) {
	t.Parallel()
	stop, count := errors.New("enough"), 0
	input := io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(stop))
	if err := lines.Each(input, 0, func(lines.Line) error { count++; return nil }); !errors.Is(err, stop) || count != 2 {
		t.Error(err, count)
	}
}
