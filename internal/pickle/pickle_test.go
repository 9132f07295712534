package pickle_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/pickle"
)

func TestNumbersAreReadInEachOfTheirForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"K\xff":             255,
		"M\x00\x80":         1 << 15,
		"J\xff\xff\xff\xff": -1,
		"\x8a\x00":          0,
		"\x8a\x02\x00\x80":  -1 << 15,
		"\x8a\x08" + "\x00\x00\x00\x00\x00\x7f\x00\x00":     0x7f0000000000,
		"\x8a\x09" + "\xff\xff\xff\xff\xff\xff\xff\xff\x01": math.MaxInt64,
		"\x8a\x09" + "\x00\x00\x00\x00\x00\x00\x00\x00\xff": math.MinInt64,
		"\x8b\x01\x00\x00\x00\x05":                          5,
	} {
		var op pickle.Op
		if err := pickle.NewScanner(strings.NewReader(text)).Next(&op); err != nil || op.Number != want {
			t.Errorf("%q is %d, %v; want %d", text, op.Number, err, want)
		}
	}
}

func TestWhatIsNoPickleIsAnErrorAtItsByte(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"K":                            "byte 1: it ends in the middle",
		"X\xff\xff\xff\x7fabc":         "a text of 2147483647 bytes, limit 1048576",
		"I1\n":                         "operation 0x49 at byte 0: no pickle of protocol 2 to 5 has it",
		"cos\nsystem":                  "it ends in the middle",
		"c" + strings.Repeat("x", 600): "a name of more than 512 bytes",
	} {
		var op pickle.Op
		if err := pickle.NewScanner(strings.NewReader(text)).Next(&op); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v; want %q", text, err, want)
		}
	}
}

func TestANameOfCodeIsText(t *testing.T) {
	t.Parallel()
	var op pickle.Op
	s := pickle.NewScanner(strings.NewReader("cos\nsystem\n."))
	if err := s.Next(&op); err != nil || string(op.Text) != "os.system" {
		t.Errorf("%q, %v", op.Text, err)
	}
	if err := s.Next(&op); err != nil || op.Code != pickle.Stop || s.Read() != 12 {
		t.Errorf("%+v, %v at %d", op, err, s.Read())
	}
	if err := s.Next(&op); !errors.Is(err, pickle.ErrEnded) {
		t.Errorf("behind the end: %v", err)
	}
}
