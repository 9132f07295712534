package msprobeoverflow_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/tensortap/tensortap/analysis/msprobe/msprobeoverflow"
	"github.com/tensortap/tensortap/analysis/rows/folders"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/steps"
)

// The files of testdata were written by overflow_check of msProbe 26.2.0 about step 1 of the recorded dumps. Of the
// golden one it found nothing.
func TestTheAnswerIsMsprobes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"B14_nan_l2_mlp_step1_mix", "D_tp_rank1_nan", "B00_golden_mix"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, err := os.ReadFile(filepath.Join("testdata", name+".json"))
			wanted := err == nil
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			source, err := folders.Open(t.Context(), []folders.Folder{{Name: name, Path: recorded.Unpack(t, name)}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			found, err := msprobeoverflow.Run(t.Context(), source, name, steps.All(), &got)
			if err != nil || found != wanted || !bytes.Equal(got.Bytes(), want) {
				t.Errorf("found %t, %v\n%s\nwant %t\n%s", found, err, got.Bytes(), wanted, want)
			}
		})
	}
}
