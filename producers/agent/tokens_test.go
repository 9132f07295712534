package agent_test

import (
	"fmt"
	"math"
	"math/rand/v2"
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

// TestTokensAtPlacesAreRowsOfTheirSequence spools tokens of one place, one of them with elements that are not finite, and some whose sequence is lost.
func TestTokensAtPlacesAreRowsOfTheirSequence(t *testing.T) {
	t.Parallel()
	root, l := t.TempDir(), newLog(t)
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	s.Begin(3)
	s.Put(schemas.SpoolSequenceKind, &schemas.SpoolSequence{PromptHash: 7, TimeNs: 5, Number: 1, Sample: 2, Step: 3, RowCount: 9})
	s.Put(schemas.SpoolTokenSitesKind, &schemas.SpoolTokenSites{
		Sequence: 1, Site: 2 | 4<<8 | 300<<16, Position: 4,
		Norm0: 2, Mean0: 0.5, SumsLow0: 0xffff | 2<<16, SumsHigh0: 3 | 0x8001<<16,
		Norm1: float32(math.Inf(1)), Mean1: float32(math.Inf(1)), SumsLow1: 8,
	})
	s.Put(schemas.SpoolTokenSitesKind, &schemas.SpoolTokenSites{Sequence: 9, Site: 3})
	s.End(3, 0)
	s.Close()
	serveUntil(t, config(t, root, l), empty(t, root))
	var got []string
	for _, r := range rows[schemas.TokenSiteRow](l) {
		norm, mean := math.Float32frombits(r.NormBits), math.Float32frombits(r.MeanBits)
		got = append(got, fmt.Sprint(r.Step, r.PromptHash, r.Sample, r.Position, r.Layer, r.Place, r.RowCount, norm, mean, r.NaNCount, r.Sum0, r.Sum1, r.Sum2, r.Sum3))
	}
	want := []string{"3 7 2 4 300 4 9 2 0.5 0 -1 2 3 -32767", "3 7 2 5 300 4 9 +Inf +Inf 8 0 0 0 0"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if lost := rows[schemas.StepRow](l)[0].DroppedCount; lost != 3 {
		t.Errorf("%d lost, want those of the sequence that is not known", lost)
	}
}

// TestATokenAtAPlaceTakesFewBytesOfTheStream spools 256 tokens at 65 places, of noise, which no compression makes smaller.
func TestATokenAtAPlaceTakesFewBytesOfTheStream(t *testing.T) {
	t.Parallel()
	const places, tokens, most = 65, 256, 24
	root, l, noise := t.TempDir(), newLog(t), rand.New(rand.NewPCG(1, 2)) //nolint:gosec // noise, no secret
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "bad", Epoch: 1})
	s.Begin(0)
	s.Put(schemas.SpoolSequenceKind, &schemas.SpoolSequence{PromptHash: noise.Uint64(), TimeNs: 5, Number: 1, RowCount: tokens})
	for place := range uint32(places) {
		for position := range uint32(tokens) {
			s.Put(schemas.SpoolTokenSitesKind, &schemas.SpoolTokenSites{
				Sequence: 1, Site: 1 | 4<<8 | place<<16, Position: position,
				Norm0: noise.Float32() + 1, Mean0: noise.Float32(), SumsLow0: noise.Uint32(), SumsHigh0: noise.Uint32(),
			})
		}
	}
	s.End(0, 0)
	s.Close()
	serveUntil(t, config(t, root, l), empty(t, root))
	var count, bytes int
	for _, m := range l.order {
		if found := rowsOf[schemas.TokenSiteRow](t, m); len(found) > 0 {
			count, bytes = count+len(found), bytes+len(m.Data)
		}
	}
	if each := float64(bytes) / float64(count); count != places*tokens || each > most {
		t.Errorf("%d rows of %.1f bytes, want %d of at most %d", count, each, places*tokens, most)
	} else {
		t.Logf("%.1f bytes a row", each)
	}
}
