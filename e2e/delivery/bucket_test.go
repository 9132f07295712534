package delivery

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/objectstore"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/schemas"
)

// hostileRun is a name that must not lead anywhere else.
const hostileRun = "../../etc/ '\"; rm -rf $HOME\u202e %2e%2e"

// stall lets the first upload of a file stop half-way.
type stall struct {
	stalled atomic.Bool
	reached chan struct{}
}

func (s *stall) between(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "event=") && s.stalled.CompareAndSwap(false, true) {
			_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
			close(s.reached)
			_, _ = io.Copy(io.Discard, r.Body) // else nobody sees that the other side is killed
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(w, r)
	})
}

// copyingUp is a system that copies its archive.
func copyingUp(t *testing.T, data string, server *objectstore.Server, to string, more ...string) *program.Up {
	t.Helper()
	s := program.Setting{Data: data, Env: objectstore.Environment()}
	args := append([]string{"up", "--archive-age", "100ms", "--archive-to", to, "--archive-endpoint", server.Endpoint}, more...)
	u := program.NewUp(data, program.Command(t, s, args...))
	if err := u.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.Kill() })
	return u
}

// awaitCopied returns once the bucket has what the archive has.
func awaitCopied(t *testing.T, u *program.Up) {
	t.Helper()
	awaitStored(t, program.ConnectStream(t, u.Endpoint.NATS), "clickhouse", "parquet")
	manifest, err := os.Stat(filepath.Join(u.Endpoint.Archive, "manifest"))
	if err != nil {
		t.Fatal(err)
	}
	err = program.Await(2*time.Minute, "the archive to be copied", func() bool {
		s, found, err := system.Folder(u.Data).Copied()
		return err == nil && found && s.NotedBytes >= manifest.Size() && s.Failure == ""
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, u.Stderr)
	}
}

// TestTheBucketAloneMakesTheStoresAgain kills a system in the middle of an upload, deletes a run, and takes the whole folder away.
func TestTheBucketAloneMakesTheStoresAgain(t *testing.T) {
	t.Parallel()
	if os.Getenv("TENSORTAP_S3_SERVER") == "" {
		t.Skip("SKIPPED: make test-s3 runs it against a real server; consumers/parquet/mirror and TestEveryReportIsTheSameOnceTheArchiveAloneMadeTheStoresAgain have its parts")
	}
	const to = "s3://archive/fleet/größe"
	s := &stall{reached: make(chan struct{})}
	server := objectstore.Start(t, s.between)
	data := t.TempDir()
	u := copyingUp(t, data, server, to)
	sources := twoRuns(t, u)
	u.Publish(t, sources[0].dir, hostileRun)
	<-s.reached
	if err := u.Kill(); err != nil {
		t.Fatal(err)
	}
	if names := server.Names(t); len(names) != 0 {
		t.Errorf("a killed upload left %v", names)
	}
	said := u.Stdout.String() + u.Stderr.String()
	u = copyingUp(t, data, server, to)
	awaitCopied(t, u)
	if table := says(t, u, 0, nil, "disk", "--output", "csv"); !strings.Contains(table, "good,bucket,") || !strings.Contains(table, "bad,bucket,") {
		t.Errorf("disk: %s, want what lies in the bucket by run", table)
	}
	says(t, u, 0, []string{"the archive is copied to " + to}, "doctor")
	says(t, u, 0, []string{"nothing of it is left"}, "runs", "delete", "bad", "--yes")
	for name := range server.Names(t) {
		if kind, run, _ := strings.Cut(strings.TrimPrefix(name, "fleet/größe/event="), "/run="); strings.HasPrefix(run, schemas.FormatID(schemas.RunID("bad"))) && schemas.OfRun(kind) {
			t.Errorf("%s of the deleted run is still there", name)
		}
	}
	awaitCopied(t, u)
	want := sums(t, u)
	mustStop(t, u)
	said += u.Stdout.String() + u.Stderr.String()
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}

	refusedRestores(t, server)
	elsewhere := program.Setting{Data: t.TempDir(), Env: objectstore.Environment()}
	out := program.Run(t, elsewhere, "restore", "--from", to, "--archive-endpoint", server.Endpoint)
	if out.Status != 0 || !strings.Contains(out.Stdout, "restored ") {
		t.Fatalf("restore: %v", out)
	}
	u = program.StartUp(t, elsewhere.Data)
	requireSums(t, u, want)
	if said += out.String() + u.Stderr.String(); strings.Contains(said, objectstore.Password) {
		t.Errorf("the password is in an output: %s", said)
	}
}

// refusedRestores tries what a server refuses.
func refusedRestores(t *testing.T, server *objectstore.Server) {
	t.Helper()
	data := t.TempDir()
	for _, c := range []struct {
		from, want string
		env        []string
	}{
		{"s3://archive/nothing", "s3://archive/nothing holds no archive", objectstore.Environment()},
		{"s3://no-such-bucket", `there is no bucket "no-such-bucket"`, objectstore.Environment()},
		{"s3://archive", "the credentials are not valid there", []string{"AWS_ACCESS_KEY_ID=" + objectstore.User, "AWS_SECRET_ACCESS_KEY=wrong-secret"}},
		{"s3://archive", "the credentials are not valid there", []string{"AWS_ACCESS_KEY_ID=nobody", "AWS_SECRET_ACCESS_KEY=wrong-secret"}},
	} {
		out := program.Run(t, program.Setting{Data: data, Env: c.env}, "restore", "--from", c.from, "--archive-endpoint", server.Endpoint)
		if out.Status != program.ExitError || !strings.Contains(out.Stderr, c.want) || strings.Contains(out.String(), "wrong-secret") {
			t.Errorf("restore --from %s: %v, want %q", c.from, out, c.want)
		}
	}
}
