package system

import (
	"slices"
	"testing"
)

func TestAnAnswerRestsOnTheRunsByWhichItJudges(t *testing.T) {
	t.Parallel()
	report := ReportRequest{Given: map[string]string{"problem": "p", "bench": "b"}, Judging: CompareRequest{Benches: []string{"c"}, Calibrate: "d"}}
	if got, want := report.Runs(), []string{"p", "b", "c", "d"}; !slices.Equal(got, want) {
		t.Errorf("a report rests on %q, want %q", got, want)
	}
	compared := CompareRequest{Problem: "p", Benches: []string{"b"}, Calibrate: "d"}
	if got, want := compared.Sides(), []string{"p", "b", "d"}; !slices.Equal(got, want) {
		t.Errorf("a comparison rests on %q, want %q", got, want)
	}
	compared.Calibrate = "b"
	if err := compared.Validate(); err == nil || err.Error() != "calibrate with b: it is compared itself; name another run of the bench's program" {
		t.Errorf("a calibration by the bench says %v", err)
	}
}
