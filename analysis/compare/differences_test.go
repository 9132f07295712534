package compare

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

func TestDifferencesNameTheKeyOfAConfiguration(t *testing.T) {
	t.Parallel()
	seed := int64(-1)
	problem := &rows.Run{MainDtype: "torch.bfloat16", Described: schemas.RunRow{
		Model: "llama", Seed: &seed, Host: "node1", Config: `{"optimizer lr": 0.1, "threads": [ 1, 2 ]}`, Labels: map[string]string{"层": "\x1b"},
	}}
	bench := &rows.Run{MainDtype: "torch.float32", Described: schemas.RunRow{Model: "llama", Host: "node2", Config: `{"optimizer lr":0.2,"threads":[1,2]}`}}
	want := []result.RunDifference{
		{Property: "config optimizer lr", Problem: "0.1", Bench: "0.2", Effect: "changes numbers"},
		{Property: "seed", Problem: "-1", Effect: "changes numbers"},
		{Property: "tensor dtype", Problem: "torch.bfloat16", Bench: "torch.float32", Effect: "changes numbers"},
		{Property: "label 层", Problem: "\x1b", Effect: "may change numbers"},
		{Property: "host", Problem: "node1", Bench: "node2", Effect: "not known to change numbers"},
	}
	if got := Differences(problem, bench); !slices.Equal(got, want) {
		t.Errorf("Differences = %v, want %v", got, want)
	}
}

func TestAConfigurationThatIsNoObjectIsOneProperty(t *testing.T) {
	t.Parallel()
	problem := &rows.Run{Described: schemas.RunRow{Config: "[1]"}}
	bench := &rows.Run{Described: schemas.RunRow{Config: "lr = 1"}}
	want := []result.RunDifference{{Property: "config", Problem: "[1]", Bench: "lr = 1", Effect: "may change numbers"}}
	if got := Differences(problem, bench); !slices.Equal(got, want) {
		t.Errorf("Differences = %v, want %v", got, want)
	}
}

func TestTheReportSortsByTheSameEffects(t *testing.T) {
	t.Parallel()
	query, err := os.ReadFile("../../sql/reports/run_differences_report.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range effects {
		if !strings.Contains(string(query), e.property.String()) || !strings.Contains(string(query), "'"+e.name+"'") {
			t.Errorf("the report lacks %q for %s", e.name, e.property)
		}
	}
}
