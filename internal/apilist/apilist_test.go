package apilist_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/apilist"
)

// The cases are those of the collector's tests/test_api_list.py.
func TestWhatTheCollectorTakesPassesAndTheRestIsNamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "",
		"functional:\n  - gelu\n  - relu  # as before\n":       "",
		"functional:\n- -relu\n- +gelu\n":                      "",
		"---\nfunctional: [gelu, -gelu, 'silu']\ntensor:\n":    "",
		"torch_npu:\n  - npu_add\naten: [add]\n":               "",
		`{"tensor": ["+mul"], "distributed": ["-all_reduce"]}`: "",
		"functionl:\n  - relu\n":                               "line 1: unknown group functionl; known are functional,",
		"functional:\n  - re lu\n":                             `line 2: "re lu" is no name of an API`,
		"- relu\n":                                             "line 1: want a group as functional: or a name as - softmax",
		"functional: relu\n":                                   `line 1: "relu" is no list of names`,
		`{"functional": 3}`:                                    "group functional is no list of names",
		`{"functional": [`:                                     "unexpected end of JSON input",
	} {
		path := filepath.Join(t.TempDir(), "apis.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := apilist.Check(path)
		if got := err == nil; got != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Check of %q = %v, want %q", text, err, want)
		}
	}
	if apilist.Check(filepath.Join(t.TempDir(), "none.yaml")) == nil {
		t.Error("a file that is not there passes")
	}
}
