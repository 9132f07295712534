package parquet

import (
	"fmt"
	"path/filepath"

	pq "github.com/parquet-go/parquet-go"

	"github.com/tensortap/tensortap/schemas"
)

// runName is the column with the name of a run.
type runName struct {
	Name string `parquet:"name"`
}

// RunNames returns the names of the runs in the folder's archive, as far as its files can be read. The archive need
// not be open, and may be written meanwhile.
func RunNames(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "event="+schemas.Run().Kind(), "run=*", "*.parquet"))
	if err != nil {
		return nil, fmt.Errorf("list the runs of %s: %w", dir, err)
	}
	var names []string
	last := ""
	for _, file := range files {
		if filepath.Dir(file) == last { // the run is described once more
			continue
		}
		rows, err := pq.ReadFile[runName](file)
		if err != nil || len(rows) == 0 {
			continue // it has just gone, or is damaged; the writer reports that when it opens
		}
		names, last = append(names, rows[0].Name), filepath.Dir(file)
	}
	return names, nil
}
