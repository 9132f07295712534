package follow_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/producers/follow"
	"github.com/tensortap/tensortap/schemas"
)

// metrics are the numbers that were published.
func (s *stream) metrics() (rows []schemas.MetricRow) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, m := range s.messages {
		if m.Header.Kind != "metric" {
			continue
		}
		some, err := schemas.DecodeRows[schemas.MetricRow](m)
		if err != nil {
			s.t.Error(err)
		}
		rows = append(rows, some...)
	}
	return rows
}

func published(t *testing.T, content string) *stream {
	t.Helper()
	s := newStream(t)
	if held, err := follow.Run(t.Context(), recordsOf(t, recordFile(t, content), s)); held || err != nil {
		t.Fatal(held, err)
	}
	return s
}

func TestANoteIsALineAndARowForEachOfItsNumbers(t *testing.T) {
	t.Parallel()
	note := `{"t":5,"s":2,"k":"note","v":{"loss":"0.5","bad":"nan","far":"-inf"},"e":{"phase":"warm"},"o":"Module.0.Linear.forward.0","r":"r-1"}` + "\n"
	s := published(t, recordsHead+note+`{"t":6,"s":-1,"k":"timer","v":{"load":"0.25"}}`+"\n")
	lines := s.rows()
	slices.SortFunc(lines, func(a, b schemas.LogRow) int { return int(a.EventTimeNs - b.EventTimeNs) })
	if len(lines) != 2 {
		t.Fatal(lines)
	}
	want := map[string]string{"loss": "0.5", "bad": "nan", "far": "-inf", "phase": "warm"}
	line := lines[0]
	if line.Kind != "note" || line.Text != "note bad=nan far=-inf loss=0.5 phase=warm" || line.Level != "info" || !maps.Equal(line.Fields, want) {
		t.Errorf("%+v", line)
	}
	if *line.Step != 2 || line.OpID != schemas.OpID("Module.0.Linear.forward.0") || line.Request != "r-1" || line.Rank != 3 {
		t.Errorf("%+v", line)
	}
	if lines[1].Kind != "timer" || lines[1].Step != nil || lines[1].Text != "timer load=0.25" {
		t.Errorf("%+v", lines[1])
	}
	got := map[string]string{}
	for _, m := range s.metrics() {
		step := "-"
		if m.Step != nil {
			step = fmt.Sprint(*m.Step)
		}
		got[m.Name] = fmt.Sprint(m.Value, m.Source, step, m.Request, m.Rank, m.Digits)
		if m.Name == "loss" && (m.Seq != line.Seq || m.Epoch != line.Epoch || m.EventTimeNs != line.EventTimeNs) {
			t.Errorf("a number has the place of its line: %+v", m)
		}
	}
	wantNumbers := map[string]string{"loss": "0.5note2r-13-1", "bad": "NaNnote2r-13-1", "far": "-Infnote2r-13-1", "load": "0.25timer-3-1"}
	for name, want := range wantNumbers {
		if strings.ReplaceAll(got[name], " ", "") != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if len(got) != len(wantNumbers) {
		t.Error(got)
	}
}

func TestANumberThatIsNoneIsSaidToBeDamaged(t *testing.T) {
	t.Parallel()
	s := published(t, recordsHead+`{"t":5,"s":2,"k":"note","v":{"loss":"0.5.5"}}`+"\n")
	if said := strings.Join(s.texts(), "|"); !strings.Contains(said, `the number "loss" of a note is damaged: "0.5.5"`) {
		t.Error(said)
	}
	if rows := s.metrics(); len(rows) != 0 {
		t.Error(rows)
	}
}

func TestALongNoteHasAShortTextAndAllOfItsFields(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 10_000)
	s := published(t, recordsHead+`{"t":5,"s":2,"k":"note","v":{},"e":{"text":"`+long+`"}}`+"\n")
	if rows := s.rows(); len(rows) != 1 || len(rows[0].Text) > 4200 || rows[0].Fields["text"] != long || !strings.HasSuffix(rows[0].Text, "é…") {
		t.Errorf("%.300v", rows)
	}
}
