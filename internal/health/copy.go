package health

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Copied is the work of a process that copies its archive to a bucket, and what is left of it. It is zero where none is named.
type Copied struct {
	Files, Bytes, Skipped, Failures uint64
	WaitingFiles, WaitingBytes      uint64
	Behind                          time.Duration
}

func copyNumbers() []number[Copied] {
	return []number[Copied]{
		counter("archive_copy_files", "Files that this process copied to the archive's bucket.", func(c *Copied) float64 { return float64(c.Files) }),
		counter("archive_copy_bytes", "Bytes of the files that this process copied to the archive's bucket.", func(c *Copied) float64 { return float64(c.Bytes) }),
		counter("archive_copy_skipped", "Files that were damaged or gone when they were to be copied to the archive's bucket.", func(c *Copied) float64 { return float64(c.Skipped) }),
		counter("archive_copy_failures", "Tries to copy to the archive's bucket that failed, and are repeated.", func(c *Copied) float64 { return float64(c.Failures) }),
		gauge("archive_copy_waiting_files", "Files of the archive that are not in its bucket yet.", func(c *Copied) float64 { return float64(c.WaitingFiles) }),
		gauge("archive_copy_waiting_bytes", "Bytes of the files of the archive that are not in its bucket yet.", func(c *Copied) float64 { return float64(c.WaitingBytes) }),
		gauge("archive_copy_behind_seconds", "Time since the archive's bucket last had all files; 0 while it has.", func(c *Copied) float64 { return c.Behind.Seconds() }),
	}
}

// Copied takes what copies the archive to a bucket.
func (h *Health) Copied(read func() Copied) {
	h.has("copied", func(_ context.Context, tell func(prometheus.Metric)) {
		c := read()
		tellEach(tell, copyNumbers(), &c)
	})
}
