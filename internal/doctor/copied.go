package doctor

import (
	"time"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/plural"
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
		e.wrong("bucket", "mend that; it is tried again by itself", "the archive is not copied to %s: %s; %s (%s) %s", s.Place, s.Failure,
			plural.Of(s.WaitingFiles, "file"), report.Size(s.WaitingBytes), plural.Verb(s.WaitingFiles, "waits", "wait"))
	case !s.BehindSince.IsZero() && waiting > mostBehind:
		e.wrong("bucket", "see whether the network to the bucket takes what the archive gets", "%s of the archive (%s) %s to be copied to %s, for %v",
			plural.Of(s.WaitingFiles, "file"), report.Size(s.WaitingBytes), plural.Verb(s.WaitingFiles, "waits", "wait"), s.Place, waiting)
	default:
		e.well("bucket", "the archive is copied to %s", s.Place)
	}
}
