package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/sql"
)

// renewed is how often an answer is made anew though no event came: rows that retention removed, or a person wrote, are no
// events.
const renewed = time.Hour

// resting is what an answer rests on.
type resting struct {
	runs   []string // all where there are none
	judged bool     // also on what is known of how to judge
	format string

	untagged bool // on more than that
}

// begun is an answer that begin began.
type begun struct {
	gaps  []string // what it lacks all the same
	known bool     // nothing is left to be done: who asks has it already, or it was kept from an earlier time
	rests string   // what the database held as it began; empty where that is not known
}

// begin has the database catch up with what an answer is to rest on, and tags it by that.
func (a *API) begin(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request, on resting) (begun, error) {
	if on.untagged {
		w.Header().Set("Cache-Control", "no-store")
		return begun{gaps: current(ctx, client)}, nil
	}
	basis, err := client.Basis(ctx, on.runs...)
	if err != nil {
		return begun{}, err
	}
	rests, err := on.text(ctx, client, basis)
	if err != nil {
		return begun{}, err
	}
	tag := a.tag(r, on, rests)
	w.Header().Set("Cache-Control", "private, no-cache")
	if known, err := a.again(ctx, client, w, r, on, tag); known || err != nil {
		return begun{known: known}, err
	}
	if err := client.WaitFor(ctx, basis.Last); err != nil { // the next answer may have it, with no further event: no tag
		return begun{gaps: []string{err.Error()}}, nil //nolint:nilerr // said beside the answer
	}
	w.Header().Set("ETag", tag)
	return begun{rests: rests}, nil
}

// text is another once what the answer rests on is another.
func (on resting) text(ctx context.Context, client *system.Client, basis system.Basis) (string, error) {
	exceptions := ""
	if on.judged {
		var err error
		if exceptions, err = client.Exceptions(ctx); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%q %q", basis.Text, exceptions), nil
}

// again answers by what was answered before, if that is known.
func (a *API) again(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request, on resting, tag string) (known bool, err error) {
	if slices.Contains(tagsOf(r), tag) {
		w.Header().Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
		return true, nil
	}
	if !a.answers.has(tag) {
		return false, nil
	}
	for _, run := range on.runs { // of one that was deleted meanwhile nothing is told any more
		if err := client.CheckRun(ctx, run); err != nil {
			return false, err
		}
	}
	return a.answers.write(w, r, tag), nil
}

// tag is that of an answer.
func (a *API) tag(r *http.Request, on resting, rests string) string {
	hour := a.cfg.Now().UnixNano() / renewed.Nanoseconds()
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %s %d", a.cfg.Version, r.URL.Path, r.URL.Query().Encode(), on.format, rests, hour))
	return `W/"` + hex.EncodeToString(sum[:12]) + `"`
}

// tagsOf are those of the answers that who asks has.
func tagsOf(r *http.Request) []string {
	var tags []string
	for _, line := range r.Header.Values("If-None-Match") {
		for tag := range strings.SplitSeq(line, ",") {
			tags = append(tags, strings.TrimSpace(tag))
		}
	}
	return tags
}

// isSteady says whether the answers of a report follow from stored events alone, and not from the time or from what the
// system knows otherwise.
func isSteady(r sql.Report) bool {
	if slices.ContainsFunc(r.Parameters, func(p sql.Parameter) bool { return system.KnownHere(p.Name) }) {
		return false
	}
	views, err := sql.Views()
	if err != nil {
		return false
	}
	byName := map[string]sql.Object{}
	for _, v := range views {
		byName["tap."+v.View()] = v
	}
	return timeless(r, byName)
}

// clock is compiled once: each report asks it of each view that it reads.
var clock = regexp.MustCompile(`\b(now|now64|today|rand\w*)\(`)

func timeless(o sql.Object, views map[string]sql.Object) bool {
	if clock.MatchString(o.Query) || strings.Contains(o.Query, "system.") {
		return false
	}
	return !slices.ContainsFunc(o.Reads, func(name string) bool {
		view, is := views[name]
		return is && !timeless(view, views)
	})
}
