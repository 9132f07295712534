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

// begin has the database catch up with what an answer is to rest on, and tags it by that. It returns what the answer lacks all
// the same, and whether nothing is left to be done: who asks has it already, or it was kept from an earlier time.
func (a *API) begin(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request, on resting) (gaps []string, known bool, err error) {
	if on.untagged {
		w.Header().Set("Cache-Control", "no-store")
		return current(ctx, client), false, nil
	}
	basis, err := client.Basis(ctx, on.runs...)
	if err != nil {
		return nil, false, err
	}
	tag, err := a.tag(ctx, client, r, on, basis)
	if err != nil {
		return nil, false, err
	}
	header := w.Header()
	header.Set("Cache-Control", "private, no-cache")
	if slices.Contains(tagsOf(r), tag) {
		header.Set("ETag", tag)
		w.WriteHeader(http.StatusNotModified)
		return nil, true, nil
	}
	if a.answers.has(tag) {
		for _, run := range on.runs { // of one that was deleted meanwhile nothing is told any more
			if err := client.CheckRun(ctx, run); err != nil {
				return nil, false, err
			}
		}
		if a.answers.write(w, r, tag) {
			return nil, true, nil
		}
	}
	if err := client.WaitFor(ctx, basis.Last); err != nil { // the next answer may have it, with no further event: no tag
		return []string{err.Error()}, false, nil //nolint:nilerr // said beside the answer
	}
	header.Set("ETag", tag)
	return nil, false, nil
}

// tag is that of an answer.
func (a *API) tag(ctx context.Context, client *system.Client, r *http.Request, on resting, basis system.Basis) (string, error) {
	exceptions := ""
	if on.judged {
		var err error
		if exceptions, err = client.Exceptions(ctx); err != nil {
			return "", err
		}
	}
	hour := a.cfg.Now().UnixNano() / renewed.Nanoseconds()
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %q %d", a.cfg.Version, r.URL.Path, r.URL.Query().Encode(), on.format, basis.Text, exceptions, hour))
	return `W/"` + hex.EncodeToString(sum[:12]) + `"`, nil
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
