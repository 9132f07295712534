package agent_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// TestTokensAreRowsOfTheirSequence spools tokens within a step and after it, some of them of a sequence whose record is lost.
func TestTokensAreRowsOfTheirSequence(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	s.Begin(3)
	s.Put(schemas.SpoolSequenceKind, &schemas.SpoolSequence{PromptHash: 7, TimeNs: 5, Number: 1, Sample: 2, Phase: s.Text("decode"), Step: 3})
	s.Put(schemas.SpoolTokensKind, &schemas.SpoolTokens{Sequence: 1, Position: 4, TokenCount: 2, Token0: 11, Token1: 12, LogProbability0: -0.5, LogProbability1: float32(math.NaN())})
	s.Put(schemas.SpoolTokensKind, &schemas.SpoolTokens{Sequence: 9, Position: 4, TokenCount: 3})
	s.End(3, 0)
	s.Put(schemas.SpoolSequenceKind, &schemas.SpoolSequence{
		PromptHash: 8, TimeNs: 6, Number: 2, Step: 3, GlobalStep: 101, WeightsVersion: 1, CachedTokenCount: 5, Temperature: 0.5,
		Flags: schemas.SpoolEntropies | schemas.SpoolTemperature,
	})
	s.Put(schemas.SpoolTokensKind, &schemas.SpoolTokens{Sequence: 2, TokenCount: 1 << 30, Token3: 14, LogProbability3: -4, Entropy3: 1.5})
	s.Put(schemas.SpoolTokensKind, &schemas.SpoolTokens{Sequence: 3, TokenCount: 2})
	s.Close()
	serveUntil(t, config(t, root, l), empty(t, root))
	var got []string
	for _, row := range rows[schemas.TokenRow](l) {
		got = append(got, strings.Join([]string{
			fmt.Sprint(row.Step, row.GlobalStep, row.PromptHash, row.Sample, row.Position, row.TokenID, row.LogProbability), row.Phase,
			said(row.WeightsVersion), said(row.CachedTokenCount), said(row.Temperature), said(row.Entropy),
		}, "|"))
	}
	want := []string{
		"3 3 7 2 4 11 -0.5|decode|-|-|-|-", "3 3 7 2 5 12 NaN|decode|-|-|-|-",
		"3 100 8 0 0 0 0||0|4|0.5|0", "3 100 8 0 1 0 0||0|4|0.5|0", "3 100 8 0 2 0 0||0|4|0.5|0", "3 100 8 0 3 14 -4||0|4|0.5|1.5",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	step, between := rows[schemas.StepRow](l)[0].DroppedCount, rows[schemas.UnseenRow](l)
	if step != 3 || len(between) != 1 || between[0].UnseenCount != 2 {
		t.Errorf("lost: %d in the step, want 3; between steps %+v, want 2", step, between)
	}
}

func said[N any](number *N) string {
	if number == nil {
		return "-"
	}
	return fmt.Sprint(*number)
}

func TestWeightsOfAnUpdateAreRows(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	s.Begin(0)
	s.Put(schemas.SpoolWeightKind, &schemas.SpoolWeight{Name: s.Text("head.weight"), Description: s.Text("float32[2, 3]"), Checksum: 17, TimeNs: 5, Version: 4})
	s.Put(schemas.SpoolWeightKind, &schemas.SpoolWeight{Name: 99, Checksum: 17})
	s.End(0, 0)
	s.Close()
	serveUntil(t, config(t, root, l), empty(t, root))
	got := rows[schemas.WeightRow](l)
	if len(got) != 1 || got[0].Name != "head.weight" || got[0].Description != "float32[2, 3]" || got[0].Version != 4 || got[0].Checksum != 17 {
		t.Errorf("rows of weights: %+v", got)
	}
	if lost := rows[schemas.StepRow](l)[0].DroppedCount; lost != 1 {
		t.Errorf("%d lost, want the one without a name", lost)
	}
}
