package retention

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/schemas"
)

// PurgedFile is the path of a file that lists the places of the stream from which messages were removed with their runs.
// The stream's server does not say why a message is gone: what is not in this file was lost.
type PurgedFile string

type purged struct {
	Made  int64               `json:"stream_made_ns"` // a new stream has a list of its own
	Spans []schemas.BatchSpan `json:"places"`
}

// read is empty where there is no such file, or it is damaged: then removed messages count as lost, which is said too often
// rather than too seldom.
func (f PurgedFile) read(made int64) (places schemas.BatchSet) {
	text, _ := os.ReadFile(string(f))
	sum, list, _ := strings.Cut(string(text), " ")
	var p purged
	if sum != checksum(list) || json.Unmarshal([]byte(list), &p) != nil || p.Made != made {
		return places
	}
	for _, span := range p.Spans {
		places.AddSpan(span)
	}
	return places
}

func checksum(text string) string { return schemas.FormatID(xxh3.HashString(text)) }

// Empty says whether nothing was removed from the stream that was made then.
func (f PurgedFile) Empty(made int64) bool {
	places := f.read(made)
	return places.Count() == 0
}

// Add adds places to the list, durably, as Stream.Note wants it. Once messages were too old for the stream, what was before these is
// of no interest.
func (f PurgedFile) Add(_ context.Context, _ uint64, _ string, made int64, first uint64, places *schemas.BatchSet) error {
	all := f.read(made)
	for span := range places.Spans() {
		all.AddSpan(span)
	}
	if first > 1 && len(all.Lacks(schemas.BatchSpan{First: 1, Last: first - 1})) > 0 {
		all.RemoveSpan(schemas.BatchSpan{Last: first - 1})
	}
	p := purged{Made: made}
	for span := range all.Spans() {
		p.Spans = append(p.Spans, span)
	}
	list, _ := json.Marshal(p) //nolint:errchkjson // numbers always encode
	if err := durable.WriteFile(string(f), strings.NewReader(checksum(string(list))+" "+string(list))); err != nil {
		return fmt.Errorf("note which messages are removed from the stream: %w", err)
	}
	return nil
}

// Others are those of the places without a message that no removal accounts for.
func (f PurgedFile) Others(made int64, gone []uint64) []uint64 {
	all := f.read(made)
	return slices.DeleteFunc(slices.Clone(gone), all.Holds)
}

// Covers says whether all messages before a place were removed with their runs.
func (f PurgedFile) Covers(made int64, before uint64) bool {
	all := f.read(made)
	return before <= 1 || len(all.Lacks(schemas.BatchSpan{First: 1, Last: before - 1})) == 0
}
