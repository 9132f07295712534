package schemas

import (
	"strings"
	"testing"
)

func TestNamesOfRunsAreAnyTextOfABoundedLength(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "team/bad 1", "läuft", "a\nb", "\x1b[31m", "a\x7f", strings.Repeat("ä", 200)} {
		if err := CheckRunName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", strings.Repeat("x", 201), "\xff"} {
		if err := CheckRunName(bad); err == nil {
			t.Errorf("%q is taken for a name", bad)
		}
	}
}
