package parquet

import (
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/internal/durable"
)

// Config says where the archive is and how its files are cut.
type Config struct {
	Dir           string       // folder of the archive, made when it is not there
	RowGroupRows  int          // rows after which a row group is closed
	RowGroupBytes int64        // bytes in memory after which a row group is closed
	PageBytes     int          // bytes of one column before encoding after which a page is closed
	Disk          durable.Disk // where Dir is: the system's, unless a test watches it
}

// DefaultConfig suits an archive of any size on a laptop or a server.
func DefaultConfig() Config {
	return Config{RowGroupRows: 512 << 10, RowGroupBytes: 64 << 20, PageBytes: 512 << 10}
}

// Validate returns the first error of the configuration.
func (c Config) Validate() error {
	var errs []error
	if c.Dir == "" {
		errs = append(errs, errors.New("dir is empty, want the folder of the archive"))
	}
	if c.RowGroupRows < 1 {
		errs = append(errs, fmt.Errorf("row group rows is %d, want at least 1", c.RowGroupRows))
	}
	if c.RowGroupBytes < 1<<20 {
		errs = append(errs, fmt.Errorf("row group bytes is %d, want at least %d", c.RowGroupBytes, 1<<20))
	}
	if c.PageBytes < 4<<10 || c.PageBytes > 64<<20 {
		errs = append(errs, fmt.Errorf("page bytes is %d, want %d to %d", c.PageBytes, 4<<10, 64<<20))
	}
	return errors.Join(errs...)
}
