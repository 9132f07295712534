package system

import (
	"fmt"
	"testing"
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
