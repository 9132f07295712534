package engines

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/marked"
)

// outcomes is what was found out about engines, for docs/ENGINES.md.
type outcomes struct {
	path  string // of the document; empty where nobody asked for it
	block string // of the document
	rows  []string
}

// newOutcomes writes them into the document that TENSORTAP_ENGINES_REPORT names when the test ends.
func newOutcomes(tb testing.TB, block string) *outcomes {
	tb.Helper()
	o := &outcomes{path: os.Getenv("TENSORTAP_ENGINES_REPORT"), block: block}
	tb.Cleanup(func() {
		if o.path == "" || len(o.rows) == 0 { // a test that found nothing out leaves the table as it is
			return
		}
		table := "| engine | ranks | test | result | figure |\n|---|---|---|---|---|\n" + strings.Join(o.rows, "")
		if err := marked.Write(o.path, o.block, table); err != nil {
			tb.Error(err)
		}
	})
	return o
}

func (o *outcomes) add(engine string, tp int, what, figure string, err error) {
	result := "yes"
	if err != nil {
		result, figure = "**no**", ""
	}
	row := fmt.Sprintf("| %s | %d | %s | %s | %s |\n", engine, tp, what, result, figure)
	o.rows = append(o.rows, row)
	fmt.Fprint(os.Stderr, row)
}
