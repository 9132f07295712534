package system

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/internal/durable"
	"github.com/tensortap/tensortap/pipelines"
)

// stores are the consumers that fill tables and archives from the stream, of which each has all of it; other programs may have
// consumers of their own.
func stores(ctx context.Context, js jetstream.JetStream) ([]pipelines.Storer, error) {
	all, err := pipelines.Storers(ctx, js)
	return slices.DeleteFunc(all, func(s pipelines.Storer) bool {
		return s.Name != databaseConsumer && s.Name != archiveConsumer && !strings.HasPrefix(s.Name, archiveConsumer+"-") && !strings.HasPrefix(s.Name, tablesPrefix)
	}), err
}

func namesOf(stores []pipelines.Storer) []string {
	names := make([]string, len(stores))
	for i, s := range stores {
		names[i] = s.Name
	}
	return names
}

// requireFilled is an error where nobody fills a store of a fleet that would be waited for.
func (c *Client) requireFilled(ctx context.Context) error {
	shared, err := isShared(ctx, c.stream)
	if err != nil || !shared {
		return err
	}
	consumers, err := c.tableConsumers(ctx)
	if err != nil {
		return err
	}
	_, archive, err := c.archiveHere(ctx)
	if err != nil {
		return err
	}
	consumers = append(consumers, archive)
	filled := filling{}
	for {
		all, err := stores(ctx, c.stream)
		if err != nil {
			return err
		}
		now := c.now()
		if idle := filled.idle(all, consumers, now); len(idle) > 0 {
			return fmt.Errorf("nobody fills %s: start `tensortap consume`, what the stream keeps may still be on its way there", strings.Join(idle, ", "))
		}
		if !slices.ContainsFunc(all, func(s pipelines.Storer) bool { return !s.Served && slices.Contains(consumers, s.Name) }) {
			return nil
		}
		select {
		case <-time.After(servedLook):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// archiveHere is the archive on this host that is filled from the stream, and by which consumer; empty where none is.
func (c *Client) archiveHere(ctx context.Context) (folder, consumer string, err error) {
	if c.Endpoint.Archive != "" {
		return c.Endpoint.Archive, archiveConsumer, nil
	}
	id, err := os.ReadFile(c.Endpoint.Folder.archiveIDFile())
	consumer = archiveConsumer + "-" + string(id)
	if errors.Is(err, fs.ErrNotExist) {
		consumer, err = archiveConsumer, nil
	}
	if err != nil {
		return "", "", err
	}
	_, err = c.stream.Consumer(ctx, pipelines.StreamName, consumer)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return "", "", nil
	}
	return c.Endpoint.Folder.archive(), consumer, err
}

func (f Folder) archiveIDFile() string { return filepath.Join(string(f), "archive.id") }

// archiveConsumer is the consumer of this folder's archive.
func (c *consumption) archiveConsumer() (string, error) {
	id, err := c.cfg.Folder.archiveID()
	return archiveConsumer + "-" + id, err
}

// archiveID tells the archive of this folder from others. One whose id is lost is filled anew, and takes nothing twice.
func (f Folder) archiveID() (string, error) {
	text, err := os.ReadFile(f.archiveIDFile())
	if err == nil && len(text) > 0 {
		return string(text), nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the id of the archive: %w", err)
	}
	const distinct = 8
	id := rand.Text()[:distinct]
	return id, durable.WriteFile(f.archiveIDFile(), strings.NewReader(id))
}
