package pipelines

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/internal/durable"
)

// putAside keeps the bytes of a message that no stream takes in the spill
// folder and makes its dead letter of the entry. It tries for as long as the
// disk refuses.
func (p *Publisher) putAside(ctx context.Context, e *outgoing, reason string) error {
	letter := deadLetter{
		Origin: originPublisher, Subject: e.wire.Subject, Header: e.wire.Header, Data: e.wire.Data,
		Reason: reason, TimeNs: p.now().UnixNano(),
	}
	again := backoff{least: p.cfg.RetryMin, most: p.cfg.RetryMax, jitter: p.cfg.Jitter}
	for {
		path, err := letter.spill(p.cfg.SpillDir)
		if err == nil {
			letter.Location = path
			break
		}
		p.fail(err)
		if again.wait(ctx) != nil {
			return errors.Join(ctx.Err(), err)
		}
	}
	row, err := letter.message()
	if err != nil {
		return err
	}
	p.metrics.deadLetters.Add(1)
	e.aside(reason)
	*e = *newOutgoing(row)
	return nil
}

// spill writes subject, headers, an empty line and the bytes to a file named
// after the bytes. The file is on disk, under its name, once it returns.
func (l deadLetter) spill(dir string) (path string, err error) {
	if err := durable.MakeFolder(dir); err != nil {
		return "", fmt.Errorf("spill message %s: %w", l.name(), err)
	}
	path = filepath.Join(dir, l.name()+".message")
	content := io.MultiReader(strings.NewReader(l.head()), bytes.NewReader(l.Data))
	if err := durable.WriteFile(path, content); err != nil {
		return "", fmt.Errorf("spill message: %w", err)
	}
	return path, nil
}

func (l deadLetter) head() string {
	headers := boundedHeaders(l.Header)
	var b strings.Builder
	fmt.Fprintf(&b, "Subject: %q\n", l.Subject)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		fmt.Fprintf(&b, "%q: %q\n", name, headers[name])
	}
	b.WriteByte('\n')
	return b.String()
}
