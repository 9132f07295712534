package scalars_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/producertest"
	"github.com/tensortap/tensortap/producers/scalars"
	"github.com/tensortap/tensortap/schemas"
)

func TestScalarsKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.Exercise(t, scalars.Tool(), "testdata/log")
}

func TestExportsOfWandbKeepThePromisesOfProducers(t *testing.T) {
	t.Parallel()
	producertest.Exercise(t, scalars.Tool(), "testdata/wandb")
}

func TestNumbersOfTensorBoardAndTransformerEngineBecomeMetrics(t *testing.T) {
	t.Parallel()
	got, problems := metrics(t, "testdata/log")
	if problems.Count > 0 {
		t.Errorf("problems %v", problems)
	}
	want := `tensorboard rank 2 step 0 train/loss = 1, -1 decimals at 1760000000500000000
tensorboard rank 2 step 1 train/loss = 0.5, -1 decimals at 1760000001500000000
tensorboard rank 2 step 2 train/loss = 0.3333333432674408, -1 decimals at 1760000002500000000
tensorboard rank 2 step 3 train/loss = 0.25, -1 decimals at 1760000003500000000
tensorboard rank 2 step 4 train/loss = 0.20000000298023224, -1 decimals at 1760000004500000000
tensorboard rank 2 step 5 train/loss = NaN, -1 decimals at 1760000005500000000
tensorboard rank 2 step 5 lr = 0.0003, -1 decimals at 1760000005500000000
tensorboard rank 2 step 4294967295 損失 🙂 = +Inf, -1 decimals at 1760000006500000000
transformer engine rank 0 step 2 transformer_layer.self_attention.layernorm_qkv_activation_max = 4.3188, 4 decimals
transformer engine rank 0 step 2 transformer_layer.self_attention.layernorm_qkv_activation_mean = 0, 4 decimals
transformer engine rank 0 step 2 transformer_layer.layernorm_mlp_fc1_gradient_underflows% = 12.5, 4 decimals`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestExportsOfWandbBecomeMetrics(t *testing.T) {
	t.Parallel()
	got, problems := metrics(t, "testdata/wandb")
	if problems.Count > 0 {
		t.Errorf("problems %v", problems)
	}
	want := `wandb rank 1 step 0 lr = 0.0003, -1 decimals at 1760000000500000000
wandb rank 1 step 0 train/loss = 1, -1 decimals at 1760000000500000000
wandb rank 1 step 1 lr = 0.0003, -1 decimals at 1760000001500000000
wandb rank 1 step 1 train/loss = NaN, -1 decimals at 1760000001500000000
wandb rank 1 step 2 train/loss = +Inf, -1 decimals at 1760000002500000000
wandb rank 0 step 0 quiet-hill-7 - loss = 1.25, -1 decimals
wandb rank 0 step 20 quiet-hill-7 - loss = 0.5, -1 decimals`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A last number that may go on is none.
func TestARowOfATableThatMayBeHalfIsLost(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "wandb_export.csv")
	if err := os.WriteFile(path, []byte("_step,loss\n1,0.5\n2,\"0.25\n3,1,2\n4,0.12"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, problems := metrics(t, path)
	if want := "wandb rank 0 step 1 loss = 0.5, -1 decimals"; got != want || problems.Count != 3 {
		t.Errorf("got %q, %v, want %q and 3 problems", got, problems, want)
	}
	if err := os.WriteFile(path, []byte("0,0.5\n1,0.25\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, problems := metrics(t, path); got != "" || problems.Count != 2 {
		t.Errorf("a table without names: got %q, %v", got, problems)
	}
}

// metrics are the rows at a path, a line each, with the time where the file gives it.
func metrics(t *testing.T, path string) (text string, all producers.Problems) {
	t.Helper()
	found, err := scalars.Tool().Find(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	read := found.Reader("a run", producers.Rows{Metric: func(m *schemas.MetricRow) {
		at := ""
		if m.EventTimeNs/1e15 == 1760 {
			at = fmt.Sprint(" at ", m.EventTimeNs)
		}
		got = append(got, fmt.Sprintf("%s rank %d step %d %s = %v, %d decimals%s", m.Source, m.Rank, *m.Step, m.Name, m.Value, m.Digits, at))
	}})
	for i := range found.Dumps {
		problems, err := read(t.Context(), i, nil)
		if err != nil {
			t.Error(err)
		}
		for _, problem := range problems.First {
			all.Add(problem)
		}
	}
	return strings.Join(got, "\n"), all
}

func TestAPlaceWithoutScalarsIsSaid(t *testing.T) {
	t.Parallel()
	if _, err := scalars.Tool().Find(t.TempDir()); !errors.Is(err, scalars.ErrNoScalars) {
		t.Errorf("Find of an empty folder = %v", err)
	}
}
