package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/producers/agent"
)

func (e *examination) engine() {
	if e.in.Engine == nil {
		e.well("engine", "not needed: the database is elsewhere")
		return
	}
	text, err := e.in.Engine()
	if err != nil {
		e.wrong("engine", "tensortap engine install", "%v", err)
		return
	}
	e.well("engine", "%s", text)
}

func (e *examination) folder() {
	faults, err := e.in.Folder.Exposed()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.well("folder", "%s is not there yet; the first system makes it", e.in.Folder)
	case err != nil:
		e.unknown("folder", "", "%v", err)
	case len(faults) == 0:
		e.well("folder", "%s belongs to this user alone", e.in.Folder)
	}
	for _, f := range faults {
		e.wrong("folder", f.Remedy, "%s", f.Text)
	}
}

// leastFree is the room below which a server may fail in the midst of its own work.
const leastFree = 1 << 30

func (e *examination) disk() {
	room, err := e.in.Folder.Room()
	switch {
	case errors.Is(err, syscall.ENOENT):
	case err != nil:
		e.unknown("disk", "", "%v", err)
	case room.FreeBytes < leastFree:
		e.wrong("disk", "make room there, or move the folder to another disk", "%s are free for %s", inWords(room.FreeBytes), e.in.Folder)
	default:
		e.well("disk", "%s are free", inWords(room.FreeBytes))
	}
}

// spills are messages that a publisher of this folder could not get rid of.
func (e *examination) spills() {
	files, err := e.in.Folder.Spilled()
	if err != nil {
		e.unknown("spill", "", "%v", err)
	}
	if len(files) > 0 {
		e.wrong("spill", "tensortap report dead-letters says why; remove the files once you know", "%s that no stream takes %s in files, the first is %s", plural.Of(len(files), "message"), plural.Verb(len(files), "lies", "lie"), files[0])
	}
}

// unread is for how long no agent has looked at a spool that an agent serves: it looks once a second.
const unread = 10 * time.Second

func (e *examination) spools() {
	found, err := agent.Spools(e.in.Spool)
	if err != nil {
		e.wrong("agent", "", "%v", err)
		return
	}
	var waiting, bytes int64
	oldest := e.in.Now()
	dropped, runs := map[string]uint64{}, map[string]bool{}
	for i := range found {
		s := &found[i]
		if s.Dropped > 0 {
			dropped[s.Run] += s.Dropped
		}
		if e.in.Now().Sub(s.Looked) > unread {
			waiting++
			bytes += s.Bytes
			if !s.Touched.IsZero() && s.Touched.Before(oldest) {
				oldest = s.Touched
			}
			runs[s.Run] = true
		}
	}
	if waiting > 0 {
		e.wrong("agent", "tensortap up, or tensortap agent with --nats, on this host and as this user; programs drop events once their spool is full. What nobody will publish goes by delete_spools_after of --retention",
			"%s of run %s wrote into %s, and no agent reads it; %s wait there, some since %s", plural.Of(waiting, "process"), names(runs), e.in.Spool, inWords(bytes), oldest.UTC().Format(time.DateTime))
	}
	for _, run := range slices.Sorted(maps.Keys(dropped)) {
		e.wrong("agent", "see whether the agent keeps up, give the programs a larger spool, or record less", "processes of run %s dropped %s, as their spool was full", run, plural.Of(dropped[run], "record"))
	}
	if waiting == 0 {
		e.well("agent", "%s of this host %s served", plural.Of(len(found), "process"), plural.Verb(len(found), "is", "are"))
	}
}

// names lists runs, the first ones of many.
func names(runs map[string]bool) string {
	const most = 5
	all := slices.Sorted(maps.Keys(runs))
	if more := len(all) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), more)
	}
	return strings.Join(all, ", ")
}

// inWords is a size that is not negative.
func inWords(bytes int64) string { return report.Size(uint64(max(0, bytes))) } //nolint:gosec // said above
