// Package bucket reads and writes objects of S3-compatible storage: those below one prefix of a bucket.
package bucket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Bucket is a place with a client for it. Its methods may be called at the same time.
type Bucket struct {
	place  Place
	client minio.Core
}

// Object is one of a bucket. Its name has no prefix.
type Object struct {
	Name string
	Size int64
}

// patience bounds one request without content; slowest is the least rate, in bytes a second, at which content moves.
const (
	patience = time.Minute
	slowest  = 100_000
)

// Open makes a client. Credentials are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, of the file of
// AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials, or those that the machine or the cluster gives its programs. Each request
// is sent that many times at most.
func Open(place Place, tries int) (*Bucket, error) {
	host, secure := place.server()
	client, err := minio.New(host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
			&credentials.IAM{Client: &http.Client{Timeout: 2 * time.Second}},
		}),
		Secure: secure, Region: place.Region, MaxRetries: tries,
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", place, err)
	}
	client.SetAppInfo("tensortap", "1")
	return &Bucket{place: place, client: minio.Core{Client: client}}, nil
}

// Place is where the objects lie.
func (b *Bucket) Place() Place { return b.place }

// List gives the objects whose names begin so. An error ends it.
func (b *Bucket) List(ctx context.Context, begin string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		prefix := b.place.key("")
		if prefix != "" {
			prefix += "/"
		}
		for o := range b.client.ListObjectsIter(ctx, b.place.Bucket, minio.ListObjectsOptions{Prefix: prefix + begin, Recursive: true}) {
			if o.Err != nil {
				yield(Object{}, b.said("list objects", o.Err))
				return
			}
			if !yield(Object{Name: strings.TrimPrefix(o.Key, prefix), Size: o.Size}, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Object{}, fmt.Errorf("list objects of %s: %w", b.place, err))
		}
	}
}

// Content is what an object is made of.
type Content interface {
	io.ReadSeeker
	io.ReaderAt
}

// Put stores an object whole, or not at all: the server is told a checksum of the content, and refuses what does not fit it.
// One of that name is replaced.
func (b *Bucket) Put(ctx context.Context, name string, content Content, size int64) error {
	ctx, cancel := context.WithTimeout(ctx, patience+time.Duration(size/slowest)*time.Second)
	defer cancel()
	// One request, of which a kill leaves nothing: parts of an upload that never ended would take room.
	_, err := b.client.Client.PutObject(ctx, b.place.Bucket, b.place.key(name), content, size, minio.PutObjectOptions{
		DisableMultipart: true, SendContentMd5: true, ContentType: "application/octet-stream",
	})
	return b.said("store "+name, err)
}

// Get writes the content of an object. ErrMissing where there is none.
func (b *Bucket) Get(ctx context.Context, name string, to io.Writer) error {
	content, object, _, err := b.client.GetObject(ctx, b.place.Bucket, b.place.key(name), minio.GetObjectOptions{})
	if err != nil {
		return b.said("read "+name, err)
	}
	n, err := io.Copy(to, content)
	if err = errors.Join(err, content.Close()); err == nil && n != object.Size {
		err = fmt.Errorf("%d bytes came, want %d: %w", n, object.Size, io.ErrUnexpectedEOF)
	}
	return b.said("read "+name, err)
}

// Remove removes objects, as far as they are there.
func (b *Bucket) Remove(ctx context.Context, names ...string) error {
	if len(names) == 0 {
		return nil
	}
	objects := func(yield func(minio.ObjectInfo) bool) {
		for _, name := range names {
			if !yield(minio.ObjectInfo{Key: b.place.key(name)}) {
				return
			}
		}
	}
	results, err := b.client.RemoveObjectsWithIter(ctx, b.place.Bucket, objects, minio.RemoveObjectsOptions{})
	if err != nil {
		return b.said("remove objects", err)
	}
	failed := slices.Collect(func(yield func(error) bool) {
		for r := range results {
			if r.Err != nil && !yield(b.said("remove "+strings.TrimPrefix(r.ObjectName, b.place.key("")+"/"), r.Err)) {
				return
			}
		}
	})
	return errors.Join(append(failed, ctx.Err())...)
}
