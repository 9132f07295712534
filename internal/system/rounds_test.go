package system

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

func TestOldAnswersAreForgotten(t *testing.T) {
	t.Parallel()
	r := newRounds(nil, Config{})
	const questions = 100 * healsAtOnce
	for i := range questions {
		r.keep(fmt.Sprint(i), &Healing{})
	}
	if len(r.answers) != healsAtOnce || r.answers[fmt.Sprint(questions-1)] == nil {
		t.Errorf("%d of %d answers are kept, the last is %v; want the last %d", len(r.answers), questions, r.answers[fmt.Sprint(questions-1)], healsAtOnce)
	}
}

func TestACheckThatFailsSaysWhatItDidBefore(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	r := newRounds(nil, Config{Log: zerolog.New(&said)})
	r.check(t.Context(), func(context.Context) (*Healing, error) {
		return &Healing{Healed: []string{"a part was moved"}, Left: []string{"another part"}}, errors.New("the engine has gone")
	})
	for _, words := range []string{"a part was moved", "another part", "the engine has gone"} {
		if !strings.Contains(said.String(), words) {
			t.Errorf("the log says nothing of %q: %s", words, &said)
		}
	}
}
