package report

import (
	"os/exec"
	"strings"
	"testing"
)

// TestAShellReadsAnArgumentAsItIs asks bash, so that what is shown can be pasted.
func TestAShellReadsAnArgumentAsItIs(t *testing.T) {
	t.Parallel()
	for _, word := range []string{
		"", "bad", "run 1", "it's", `a"b`, "$HOME", "a;b", "~/x", "Module.layers.[0-3].*", "a\nb", "名前", "\x1b[31m", `back\slash`, "a\xffb",
		"Functional.linear.0.forward", "!x", "#x", "a=b", "{a,b}", "`x`", "it's\n\"both\"",
	} {
		out, err := exec.CommandContext(t.Context(), "bash", "-c", "printf %s "+Argument(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("bash reads %s as %q, want %q: %v", Argument(word), out, word, err)
		}
		if strings.ContainsAny(Argument(word), "\n\x1b") {
			t.Errorf("Argument(%q) would spoil a terminal", word)
		}
	}
}
