package parquet

import (
	"fmt"
	"path/filepath"

	pq "github.com/parquet-go/parquet-go"

	"github.com/tensortap/tensortap/schemas"
)

// runName is the column of a run's rows that tells its name.
type runName struct {
	Name string `parquet:"name"`
}

// RunNames is what the runs of the archive in the folder are called, as far as its files can be read: nobody needs to have
// it open, and somebody may be writing it.
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
			continue // it has just gone, or is damaged, which the writer tells when it opens
		}
		names, last = append(names, rows[0].Name), filepath.Dir(file)
	}
	return names, nil
}
