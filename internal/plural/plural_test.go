package plural_test

import (
	"testing"

	"github.com/tensortap/tensortap/internal/plural"
)

func TestOneThingIsNotMany(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{plural.Of(1, "step"), "1 step"},
		{plural.Of(0, "step"), "0 steps"},
		{plural.Of(uint64(2), "batch"), "2 batches"},
		{plural.Of(int64(1), "batch"), "1 batch"},
		{plural.Of(3, "process"), "3 processes"},
		{plural.Noun(1, "rank"), "rank"},
		{plural.Verb(1, "is", "are"), "is"},
		{plural.Verb(uint32(2), "is", "are"), "are"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}
