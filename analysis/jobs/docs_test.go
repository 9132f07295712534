package jobs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/jobs"
)

const page = "../../docs/jobs.md"

func TestThePageListsTheKeysThatAreRead(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	want.WriteString("| key of a job | value | without it | meaning |\n|---|---|---|---|\n")
	for _, key := range jobs.Schema() {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", key.Name, key.Type, key.Default, key.Meaning)
	}
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(content), "\n\n"+want.String()+"\n") {
		t.Errorf("%s lacks this table:\n%s", page, want.String())
	}
}

func TestTheExampleOfThePageIsRead(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(content), "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatalf("%s has no example", page)
	}
	all, err := jobs.Parse("docs/example.yaml", []byte(example))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 3 || all[1].Map != "docs/fused.yaml" || len(all[2].Benches) != 3 {
		t.Errorf("the example reads as %+v", all)
	}
}
