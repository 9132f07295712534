package answers

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// tagOf is the tag of an answer that rests on all that was published.
func tagOf(t *testing.T, address string) (tag string) {
	t.Helper()
	err := program.Await(program.Patience, "an answer that lacks nothing", func() bool {
		got := get(t, address)
		last := tag
		tag = got.header.Get("ETag")
		return tag != "" && tag == last // the first has verdicts stored
	})
	if err != nil {
		t.Fatalf("%s: %v", address, err)
	}
	return tag
}

// TestAnAnswerIsTaggedByWhatItRestsOn publishes into another run than those of an answer, and into one of them.
func TestAnAnswerIsTaggedByWhatItRestsOn(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	api := apiOf(t, u)
	dump := recorded.Unpack(t, "D_tp_golden")
	u.Publish(t, dump, "tagged")
	u.Publish(t, recorded.Unpack(t, "B00_golden_mix"), "tagged-bench") // other tests have what is shared judged
	tags := map[string]string{}
	paths := []string{"/reports/divergence?problem=tagged&bench=tagged-bench", "/compare?problem=tagged&bench=tagged-bench"}
	for range 2 { // an answer that has verdicts stored changes the other
		for _, path := range paths {
			tags[path] = tagOf(t, api+path)
		}
	}
	u.Publish(t, dump, "another")
	for path, tag := range tags {
		again := get(t, api+path, "If-None-Match: \"x\", "+tag)
		if again.status != http.StatusNotModified || again.body != "" || again.header.Get("ETag") != tag {
			t.Errorf("%s: status %d, tags %q and %q: %.300s", path, again.status, tag, again.header.Get("ETag"), again.body)
		}
		if other := get(t, api+path+"&format=csv", "If-None-Match: "+tag); other.status == http.StatusNotModified {
			t.Errorf("%s: a form of it has its tag", path)
		}
	}
	u.Publish(t, program.Altered(t, dump, "step0/rank0"), "tagged", "--replace")
	for path, tag := range tags {
		if changed := get(t, api+path, "If-None-Match: "+tag); changed.status != http.StatusOK {
			t.Errorf("%s: status %d once its run has changed", path, changed.status)
		}
	}
	if runs := get(t, api+"/runs"); runs.header.Get("ETag") != "" {
		t.Error("an answer that changes with the time has a tag")
	}
}

func TestWhoListensIsToldOfChanges(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	api := apiOf(t, u)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/live", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // it is cut off
	if media := response.Header.Get("Content-Type"); media != "text/event-stream" {
		t.Fatalf("status %d, %s", response.StatusCode, media)
	}
	told := map[string]bool{}
	lines, published := bufio.NewScanner(response.Body), false
	for !told["runs"] || !told["progress"] {
		if !lines.Scan() {
			t.Fatalf("the lines end: %v, told of %v", lines.Err(), told)
		}
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is {
			continue
		}
		var change struct {
			Changed []string
			Away    bool
		}
		if err := json.Unmarshal([]byte(data), &change); err != nil {
			t.Fatalf("%v in %q", err, data)
		}
		for _, topic := range change.Changed {
			told[topic] = true
		}
		if !published && !change.Away {
			published = true
			u.Publish(t, recorded.Unpack(t, "D_tp_golden"), "heard of")
		}
	}
}
