// Package objectstore starts S3-compatible servers for tests: a real one, versitygw, where TENSORTAP_S3_SERVER names its
// program (make test-s3), else gofakes3 in this process, which is a stand-in: it knows the protocol, and checks no credentials.
package objectstore

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// The login of the servers, and the bucket that each has.
const (
	User     = "tensortap-test"
	Password = "not-a-secret-of-anyone"
	Bucket   = "archive"
)

// Server is one server.
type Server struct {
	Endpoint string
	Real     bool // it is no stand-in
	Client   *minio.Client
}

// Start runs a server until the test ends. Between, unless it is nil, is given each request first, and the server's answer.
func Start(tb testing.TB, between func(next http.Handler) http.Handler) *Server {
	tb.Helper()
	s := &Server{}
	var handler http.Handler
	if program := os.Getenv("TENSORTAP_S3_SERVER"); program != "" {
		s.Real = true
		handler = forward(tb, startReal(tb, program))
	} else {
		handler = gofakes3.New(s3mem.New()).Server()
	}
	if between != nil {
		handler = between(handler)
	}
	server := httptest.NewServer(handler)
	tb.Cleanup(server.Close)
	s.Endpoint = server.URL
	client, err := minio.New(server.Listener.Addr().String(), &minio.Options{Creds: credentials.NewStaticV4(User, Password, "")})
	if err != nil {
		tb.Fatal(err)
	}
	s.Client = client
	if err := client.MakeBucket(tb.Context(), Bucket, minio.MakeBucketOptions{}); err != nil {
		tb.Fatalf("make a bucket: %v", err)
	}
	return s
}

// Environment is what a process needs to be let in.
func Environment() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + User, "AWS_SECRET_ACCESS_KEY=" + Password}
}

// Names are the objects of the bucket with their sizes.
func (s *Server) Names(tb testing.TB) map[string]int64 {
	tb.Helper()
	names := map[string]int64{}
	for o := range s.Client.ListObjectsIter(tb.Context(), Bucket, minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil {
			tb.Fatal(o.Err)
		}
		names[o.Key] = o.Size
	}
	return names
}

// startReal runs versitygw over a folder, and is its address.
func startReal(tb testing.TB, program string) string {
	tb.Helper()
	address := freeAddress(tb)
	root := filepath.Join(tb.TempDir(), "objects")
	if err := os.Mkdir(root, 0o700); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(tb.Context()), program, "--port", address, "--quiet", "posix", root) //nolint:gosec // named by who tests
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+User, "ROOT_SECRET_KEY="+Password)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Start(); err != nil {
		tb.Fatalf("start %s: %v", program, err)
	}
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	await(tb, address)
	return address
}

func freeAddress(tb testing.TB) string {
	tb.Helper()
	listener, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // only its address is wanted
	return listener.Addr().String()
}

func await(tb testing.TB, address string) {
	tb.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		conn, err := (&net.Dialer{}).DialContext(tb.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
			return
		}
	}
	tb.Fatal(fmt.Errorf("the server at %s did not start within a minute", address))
}
