package marked_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/marked"
)

func TestTheDocumentKeepsWhatIsOutsideTheMarks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("before\n<!-- soak -->\nold\n<!-- end of soak -->\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := marked.Write(path, "soak", "new\n"); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); string(text) != "before\n<!-- soak -->\nnew\n<!-- end of soak -->\nafter\n" {
		t.Errorf("the page is %s", text)
	}
	if err := marked.Write(path, "month", ""); err == nil {
		t.Error("a page without marks is written")
	}
}
