package doctor

import (
	"time"

	"github.com/tensortap/tensortap/analysis/report"
)

// mostBehind is for how long files of the archive may wait for their bucket.
const mostBehind = 10 * time.Minute

// copied looks how far the copy of the archive in a bucket is.
func (e *examination) copied() {
	s, found, err := e.in.Folder.Copied()
	waiting := e.in.Now().Sub(s.BehindSince).Round(time.Second)
	switch {
	case err != nil:
		e.unknown("bucket", "", "%v", err)
	case !found:
	case s.Failure != "":
		e.wrong("bucket", "mend that; it is tried again by itself", "the archive is not copied to %s: %s; %d files (%s) wait", s.Place, s.Failure, s.WaitingFiles, report.Size(s.WaitingBytes))
	case !s.BehindSince.IsZero() && waiting > mostBehind:
		e.wrong("bucket", "see whether the network to the bucket takes what the archive gets", "%d files of the archive (%s) wait to be copied to %s, for %v", s.WaitingFiles, report.Size(s.WaitingBytes), s.Place, waiting)
	default:
		e.well("bucket", "the archive is copied to %s", s.Place)
	}
}
