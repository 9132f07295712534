package scalars_test

import (
	"errors"
	"fmt"
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

func TestNumbersOfTensorBoardAndTransformerEngineBecomeMetrics(t *testing.T) {
	t.Parallel()
	found, err := scalars.Tool().Find("testdata/log")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	read := found.Reader("a run", producers.Rows{Metric: func(m *schemas.MetricRow) {
		at := ""
		if m.Source == "tensorboard" {
			at = fmt.Sprint(" at ", m.EventTimeNs)
		}
		got = append(got, fmt.Sprintf("%s rank %d step %d %s = %v, %d decimals%s", m.Source, m.Rank, *m.Step, m.Name, m.Value, m.Digits, at))
	}})
	for i := range found.Dumps {
		if problems, err := read(t.Context(), i, nil); err != nil || problems.Count > 0 {
			t.Errorf("problems %v, error %v", problems, err)
		}
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
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestAPlaceWithoutScalarsIsSaid(t *testing.T) {
	t.Parallel()
	if _, err := scalars.Tool().Find(t.TempDir()); !errors.Is(err, scalars.ErrNoScalars) {
		t.Errorf("Find of an empty folder = %v", err)
	}
}
