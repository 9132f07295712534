package mirror_test

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/rs/zerolog"

	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/consumers/parquet/mirror"
	"github.com/tensortap/tensortap/internal/bucket"
	"github.com/tensortap/tensortap/internal/dev/objectstore"
	"github.com/tensortap/tensortap/schemas"
)

// TestMain gives this process the login of the servers.
func TestMain(m *testing.M) {
	for _, variable := range objectstore.Environment() {
		name, value, _ := strings.Cut(variable, "=")
		_ = os.Setenv(name, value)
	}
	os.Exit(m.Run())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// world is an archive and a server, which answers so many requests more.
type world struct {
	dir     string
	archive *parquet.Writer
	server  *objectstore.Server
	left    atomic.Int64
	served  atomic.Bool // requests that are not answered are carried out all the same
	refuses atomic.Bool // each request is forbidden
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{dir: filepath.Join(t.TempDir(), "archive")}
	w.left.Store(math.MaxInt64)
	w.server = objectstore.Start(t, w.between)
	cfg := parquet.DefaultConfig()
	cfg.Dir = w.dir
	var err error
	w.archive, err = parquet.New(cfg)
	must(t, err)
	_, err = w.archive.Open(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = w.archive.Close() })
	return w
}

// between cuts the connection of a request that is one too many.
func (w *world) between(next http.Handler) http.Handler {
	return http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		if w.refuses.Load() {
			to.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(to, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>")
			return
		}
		if w.left.Add(-1) >= 0 {
			next.ServeHTTP(to, r)
			return
		}
		if w.served.Load() {
			next.ServeHTTP(discard{http.Header{}}, r)
		}
		panic(http.ErrAbortHandler)
	})
}

type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// write archives batches of two runs, and of a kind that goes with none.
func (w *world) write(t *testing.T, first uint64) {
	t.Helper()
	for _, kind := range []string{"tensor", "step", "baseline"} {
		for number := range uint64(2) {
			of := consumertest.Producer(number)
			of.Batch = first
			must(t, w.archive.Write(t.Context(), consumertest.Messages(consumertest.Batches(t, kind, of, 1, 20))))
		}
	}
}

// open is a client for objects below a prefix.
func (w *world) open(t *testing.T, prefix string) *bucket.Bucket {
	t.Helper()
	place, err := bucket.ParsePlace(bucket.Scheme+objectstore.Bucket+"/"+prefix, w.server.Endpoint, "us-east-1")
	must(t, err)
	b, err := bucket.Open(place, 1)
	must(t, err)
	return b
}

// copying is a mirror at work.
type copying struct {
	*mirror.Mirror
	stop func()
}

func (w *world) copy(t *testing.T, prefix string) *copying {
	t.Helper()
	cfg := mirror.DefaultConfig()
	cfg.ArchiveID, cfg.State = "one", filepath.Join(w.dir, "..", "state "+strings.ReplaceAll(prefix, "/", " "))
	cfg.Look, cfg.Longest, cfg.Log, cfg.Now = 2*time.Millisecond, 4*time.Millisecond, zerolog.Nop(), time.Now
	c := &copying{Mirror: mirror.New(cfg, w.open(t, prefix), w.archive)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	c.stop = func() {
		cancel()
		must(t, <-ended)
	}
	return c
}

// await waits for the copy to come to something.
func (c *copying) await(t *testing.T, what string, holds func(mirror.Status) bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(c.Status()); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s, the copy is %+v", what, c.Status())
		}
	}
}

// copyAll copies until the bucket has all.
func (w *world) copyAll(t *testing.T, prefix string) {
	t.Helper()
	c := w.copy(t, prefix)
	w.caughtUp(t, c)
	c.stop()
}

func (w *world) caughtUp(t *testing.T, c *copying) {
	t.Helper()
	all, err := w.archive.ManifestFrom(0)
	must(t, err)
	c.await(t, "all to be copied", func(s mirror.Status) bool { return s.NotedBytes == int64(len(all)) && s.WaitingFiles == 0 })
}

// archived are the messages in the folder, each as text.
func (w *world) archived(t *testing.T) []string {
	t.Helper()
	var all []string
	for m, err := range parquet.Saved(t.Context(), w.dir) {
		must(t, err)
		all = append(all, describe(m))
	}
	slices.Sort(all)
	return all
}

// inBucket are those in the bucket, and what is wrong with it.
func (w *world) inBucket(t *testing.T, prefix string) (all, faults []string) {
	t.Helper()
	opened, err := mirror.OpenCopied(t.Context(), w.open(t, prefix))
	must(t, err)
	for m, err := range opened.Messages(t.Context()) {
		if err != nil {
			faults = append(faults, err.Error())
			continue
		}
		all = append(all, describe(m))
	}
	slices.Sort(all)
	return all, faults
}

func describe(m schemas.Message) string {
	return fmt.Sprintf("%s %v %d rows %08x", m.Header.Kind, m.Header.Identity, m.Header.Rows, m.Header.CRC)
}

func (w *world) requireWhole(t *testing.T, prefix string) {
	t.Helper()
	got, faults := w.inBucket(t, prefix)
	if want := w.archived(t); !slices.Equal(got, want) || len(faults) > 0 {
		t.Errorf("%s: in the bucket are %d messages, want %d; faults %q", prefix, len(got), len(want), faults)
	}
}

func TestWhateverRequestIsTheLastTheNextMirrorCopiesTheRestOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, 0)
	for requests := int64(0); ; requests++ {
		ended := true
		for _, served := range []bool{false, true} {
			prefix := fmt.Sprintf("killed/%d %v", requests, served)
			w.left.Store(requests)
			w.served.Store(served)
			c := w.copy(t, prefix)
			c.await(t, "an end", func(s mirror.Status) bool { return s.Failures > 0 || s.NotedBytes > 0 })
			c.stop()
			ended = ended && c.Status().Failures == 0
			w.left.Store(math.MaxInt64)
			w.copyAll(t, prefix)
			w.requireWhole(t, prefix)
		}
		if ended {
			t.Logf("tried after each of %d requests", requests)
			return
		}
	}
}

func TestWhatTheBucketLostIsNamedAndCopiedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, 0)
	w.copyAll(t, "p")
	lost, damaged := "", ""
	for name, size := range w.server.Names(t) {
		if strings.Contains(name, "event=tensor") && lost == "" {
			lost = name
			must(t, w.server.Client.RemoveObject(t.Context(), objectstore.Bucket, name, minio.RemoveObjectOptions{}))
		} else if strings.Contains(name, "event=step") && damaged == "" {
			damaged = name
			other := strings.NewReader(strings.Repeat("x", int(size)))
			_, err := w.server.Client.PutObject(t.Context(), objectstore.Bucket, name, other, size, minio.PutObjectOptions{})
			must(t, err)
		}
	}
	_, err := w.server.Client.PutObject(t.Context(), objectstore.Bucket, "p/event=step/of others", strings.NewReader("x"), 1, minio.PutObjectOptions{})
	must(t, err)
	got, faults := w.inBucket(t, "p")
	said := strings.Join(faults, "\n")
	for _, want := range []string{strings.TrimPrefix(lost, "p/") + ": the object is missing", "read " + strings.TrimPrefix(damaged, "p/") + ": checksum is ", "event=step/of others is no object of an archive"} {
		if !strings.Contains(said, want) {
			t.Errorf("faults lack %q: %s", want, said)
		}
	}
	if want := w.archived(t); len(got) != len(want)-2 || len(faults) != 3 {
		t.Errorf("%d of %d messages are read, and %d faults", len(got), len(want), len(faults))
	}
	must(t, w.server.Client.RemoveObject(t.Context(), objectstore.Bucket, damaged, minio.RemoveObjectOptions{}))
	must(t, w.server.Client.RemoveObject(t.Context(), objectstore.Bucket, "p/event=step/of others", minio.RemoveObjectOptions{}))
	w.copyAll(t, "p")
	w.requireWhole(t, "p")
}

func TestABucketThatRefusesIsToldAndAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.refuses.Store(true)
	w.write(t, 0)
	c := w.copy(t, "p")
	c.await(t, "three failures", func(s mirror.Status) bool { return s.Failures > 2 })
	state := filepath.Join(w.dir, "..", "state p")
	s, found, err := mirror.ReadStatus(state)
	must(t, err)
	if !found || !strings.Contains(s.Failure, "the credentials lack the right to") || s.Place != "s3://archive/p" {
		t.Errorf("state while it is refused: %v, %+v", found, s)
	}
	w.refuses.Store(false)
	w.caughtUp(t, c)
	w.write(t, 1)
	w.caughtUp(t, c)
	c.await(t, "it to say that all is well", func(s mirror.Status) bool { return s.Failure == "" })
	c.stop()
	w.requireWhole(t, "p")
	if s, _, err := mirror.ReadStatus(state); err != nil || s.Failure != "" || s.WaitingFiles != 0 || !s.BehindSince.IsZero() {
		t.Errorf("state at the end: %+v, %v", s, err)
	}
}

func TestADeletedRunGoesFromTheBucket(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, 0)
	c := w.copy(t, "p")
	w.caughtUp(t, c)
	gone, later := consumertest.Producer(0).RunID, consumertest.Producer(1).RunID
	must(t, w.archive.RemoveRun(gone))
	must(t, c.Remove(t.Context(), gone))
	must(t, c.Remove(t.Context(), gone))
	w.caughtUp(t, c)
	c.stop()
	w.requireNone(t, gone)
	must(t, w.archive.RemoveRun(later)) // while nothing copies
	if _, faults := w.inBucket(t, "p"); len(faults) > 0 {
		t.Errorf("faults after a deletion: %q", faults)
	}
	w.copyAll(t, "p")
	w.requireNone(t, later)
	w.requireWhole(t, "p")
}

// requireNone checks that no object is of a run, but for kinds that go with none.
func (w *world) requireNone(t *testing.T, runID uint64) {
	t.Helper()
	kept := 0
	for name := range w.server.Names(t) {
		if !strings.Contains(name, "run="+schemas.FormatID(runID)) {
			continue
		}
		if kept++; !strings.Contains(name, "event=baseline/") {
			t.Errorf("%s is still there", name)
		}
	}
	if kept != 1 {
		t.Errorf("%d objects of the run are kept, want the baseline", kept)
	}
}

// TestTwoArchivesShareABucket has a second archive whose files have the same names, as that of a folder that was lost and made anew.
func TestTwoArchivesShareABucket(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write(t, 0)
	w.copyAll(t, "p")
	first := w.archived(t)
	must(t, w.archive.Close())
	must(t, os.RemoveAll(w.dir))
	_, err := w.archive.Open(t.Context())
	must(t, err)
	w.write(t, 1)
	w.copyAll(t, "p")
	want := append(first, w.archived(t)...)
	slices.Sort(want)
	if got, faults := w.inBucket(t, "p"); !slices.Equal(got, want) || len(faults) > 0 {
		t.Errorf("%d messages of %d, faults %q", len(got), len(want), faults)
	}
}
