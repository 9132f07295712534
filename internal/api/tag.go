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

// tag gives the answer a tag by what it rests on, and says whether who asks has that answer already.
func (a *API) tag(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request, on resting) (known bool, err error) {
	if on.untagged {
		w.Header().Set("Cache-Control", "no-store")
		return false, nil
	}
	basis, err := client.Basis(ctx, on.runs...)
	if err != nil {
		return false, err
	}
	exceptions := ""
	if on.judged {
		if exceptions, err = client.Exceptions(ctx); err != nil {
			return false, err
		}
	}
	hour := a.cfg.Now().UnixNano() / renewed.Nanoseconds()
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %q %d", a.cfg.Version, r.URL.Path, r.URL.Query().Encode(), on.format, basis, exceptions, hour))
	tag := `W/"` + hex.EncodeToString(sum[:12]) + `"`
	header := w.Header()
	header.Set("ETag", tag)
	header.Set("Cache-Control", "private, no-cache")
	if !slices.Contains(tagsOf(r), tag) {
		return false, nil
	}
	w.WriteHeader(http.StatusNotModified)
	return true, nil
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

// begin tags an answer and has the database catch up with what it is to rest on. It returns what it lacks all the same, and
// whether who asks has the answer already.
func (a *API) begin(ctx context.Context, client *system.Client, w http.ResponseWriter, r *http.Request, on resting) (gaps []string, known bool, err error) {
	if known, err := a.tag(ctx, client, w, r, on); known || err != nil {
		return nil, known, err
	}
	if gaps = current(ctx, client); len(gaps) > 0 { // the next answer may have it, with no further event
		w.Header().Del("ETag")
	}
	return gaps, false, nil
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

func timeless(o sql.Object, views map[string]sql.Object) bool {
	if regexp.MustCompile(`\b(now|now64|today|rand\w*)\(`).MatchString(o.Query) || strings.Contains(o.Query, "system.") {
		return false
	}
	return !slices.ContainsFunc(o.Reads, func(name string) bool {
		view, is := views[name]
		return is && !timeless(view, views)
	})
}
