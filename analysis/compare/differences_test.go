package compare

import (
	"slices"
	"testing"

	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

func TestDifferencesNameTheKeyOfAConfiguration(t *testing.T) {
	t.Parallel()
	seed := int64(-1)
	problem := &rows.Run{MainDtype: "torch.bfloat16", Described: schemas.RunRow{
		Model: "llama", Seed: &seed, Config: `{"optimizer lr": 0.1, "threads": [ 1, 2 ]}`, Labels: map[string]string{"层": "\x1b"},
	}}
	bench := &rows.Run{MainDtype: "torch.float32", Described: schemas.RunRow{Model: "llama", Config: `{"optimizer lr":0.2,"threads":[1,2]}`}}
	want := []result.RunDifference{
		{Property: "config optimizer lr", Problem: "0.1", Bench: "0.2"},
		{Property: "label 层", Problem: "\x1b"},
		{Property: "seed", Problem: "-1"},
		{Property: "tensor dtype", Problem: "torch.bfloat16", Bench: "torch.float32"},
	}
	if got := Differences(problem, bench); !slices.Equal(got, want) {
		t.Errorf("Differences = %v, want %v", got, want)
	}
}

func TestAConfigurationThatIsNoObjectIsOneProperty(t *testing.T) {
	t.Parallel()
	problem := &rows.Run{Described: schemas.RunRow{Config: "[1]"}}
	bench := &rows.Run{Described: schemas.RunRow{Config: "lr = 1"}}
	want := []result.RunDifference{{Property: "config", Problem: "[1]", Bench: "lr = 1"}}
	if got := Differences(problem, bench); !slices.Equal(got, want) {
		t.Errorf("Differences = %v, want %v", got, want)
	}
}
