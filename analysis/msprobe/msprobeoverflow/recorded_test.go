package msprobeoverflow_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/internal/system"
)

// The files of testdata were written by overflow_check of msProbe 26.2.0 about step 1 of the recorded dumps. Of the
// golden one it found nothing.
func TestTheAnswerIsMsprobes(t *testing.T) {
	t.Parallel()
	runs := []string{"B14_nan_l2_mlp_step1_mix", "D_tp_rank1_nan", "B00_golden_mix"}
	cfg := system.DefaultConfig("", time.Now)
	cfg.Library, cfg.Command = testbed.Library(t), testbed.Command(t)
	err := system.WithTemporary(t.Context(), t.TempDir(), cfg, func(ctx context.Context, c *system.Client) error {
		for _, run := range runs {
			if _, err := c.PublishMsprobe(ctx, system.PublishRequest{Path: recorded.Unpack(t, run), Run: run}, func(int64, int64) {}); err != nil {
				return err
			}
		}
		if err := c.WaitStored(ctx); err != nil {
			return err
		}
		for _, run := range runs {
			if err := checkAnswer(ctx, t, c, run); err != nil {
				return fmt.Errorf("overflow of %s: %w", run, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkAnswer(ctx context.Context, t *testing.T, c *system.Client, run string) error {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", run+".json"))
	wanted := err == nil
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	var got bytes.Buffer
	found, err := c.WriteMsprobeOverflow(ctx, &got, run, steps.All())
	if err != nil {
		return err
	}
	if found != wanted || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("overflow of %s: found %t\n%s\nwant %t\n%s", run, found, got.Bytes(), wanted, want)
	}
	return nil
}
