package mapping_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/mapping"
)

// examples are the YAML files that the page shows.
func examples(t *testing.T) []string {
	t.Helper()
	content, err := os.ReadFile("../../docs/mapping.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for i, part := range strings.Split(string(content), "```") {
		if text, ok := strings.CutPrefix(part, "yaml\n"); ok && i%2 == 1 {
			list = append(list, text)
		}
	}
	return list
}

func TestTheExamplesOfThePageAreRead(t *testing.T) {
	t.Parallel()
	list := examples(t)
	if len(list) != 2 {
		t.Fatalf("the page has %d examples, want 2", len(list))
	}
	for _, text := range list {
		if m, err := mapping.Parse("example.yaml", []byte(text)); err != nil || m.Kind != mapping.Own {
			t.Errorf("%v in\n%s", err, text)
		}
	}
}

func TestWithTheExampleOfThePageNothingDiffers(t *testing.T) {
	t.Parallel()
	c := compare(t, twice(t, "separate", "fused"), parse(t, examples(t)[0]), "separate", "fused")
	if c.first != "" || len(c.unmatched) > 0 {
		t.Errorf("first %q, unmatched %v", c.first, c.unmatched)
	}
}
