package msprobedump_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/system"
)

// TestMsprobeItselfReadsAnExport runs the msProbe that TENSORTAP_MSPROBE names (`make msprobe` installs one). What it
// says of two exports is what it says of the dumps that they came from, and between a dump and its export it finds nothing.
func TestMsprobeItselfReadsAnExport(t *testing.T) {
	t.Parallel()
	msprobe := testbed.Msprobe(t)
	was, is := map[string]string{}, map[string]string{}
	cfg := system.DefaultConfig("", time.Now)
	cfg.Library, cfg.Command = testbed.Library(t), testbed.Command(t)
	err := system.WithTemporary(t.Context(), t.TempDir(), cfg, func(ctx context.Context, c *system.Client) error {
		for _, name := range []string{"B04_eps_mix", "B00_golden_mix"} {
			was[name], is[name] = recorded.Unpack(t, name), filepath.Join(t.TempDir(), "dump")
			if err := throughTheStore(ctx, c, name, was[name], is[name]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := compareByMsprobe(t, msprobe, was["B04_eps_mix"], was["B00_golden_mix"])
	if got := compareByMsprobe(t, msprobe, is["B04_eps_mix"], is["B00_golden_mix"]); !bytes.Equal(got, want) {
		t.Errorf("of two exports msProbe says something else: %s", firstDifference(string(want), string(got)))
	}
	requireAllPass(t, compareByMsprobe(t, msprobe, is["B00_golden_mix"], was["B00_golden_mix"]))
}

// compareByMsprobe is the file that msProbe writes about the first steps of two dumps of one rank.
func compareByMsprobe(t *testing.T, msprobe, problem, bench string) []byte {
	t.Helper()
	found := testbed.MsprobeCompares(t, msprobe, filepath.Join(problem, "step0"), filepath.Join(bench, "step0"))
	if len(found) != 1 {
		t.Fatalf("msProbe wrote %q, want one file", found)
	}
	return []byte(read(t, found[0]))
}

func requireAllPass(t *testing.T, text []byte) {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) < 1000 {
		t.Fatalf("msProbe's file has %d rows, %v", len(rows), err)
	}
	column := slices.Index(rows[0], "Result")
	for _, row := range rows[1:] {
		if column < 0 || row[column] != "pass" || row[0] != row[1] {
			t.Errorf("msProbe does not pass %q", row)
			return
		}
	}
	t.Logf("msProbe passes all of %d rows", len(rows)-1)
}
