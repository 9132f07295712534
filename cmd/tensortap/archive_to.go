package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tensortap/tensortap/internal/bucket"
)

// archiveTo has the flags for the copy of an archive in a bucket.
type archiveTo struct{ address, endpoint string }

func (t *archiveTo) flags(f *pflag.FlagSet) {
	f.StringVar(&t.address, "archive-to", "", "copy the archive to this bucket of S3-compatible storage, as s3://BUCKET/PREFIX (also TENSORTAP_ARCHIVE_TO); for credentials see docs/archive.md")
	t.endpointFlag(f)
}

func (t *archiveTo) endpointFlag(f *pflag.FlagSet) {
	f.StringVar(&t.endpoint, "archive-endpoint", "", "URL of the bucket's server, as https://minio.local:9000 (also AWS_ENDPOINT_URL); by default Amazon's")
}

// named is where the flags or the environment say that an archive is copied to, or nowhere.
func (t *archiveTo) named(getenv func(string) string) (bucket.Place, error) {
	to := archiveTo{cmp.Or(t.address, getenv("TENSORTAP_ARCHIVE_TO")), t.endpoint}
	place, err := to.place(getenv)
	if err != nil {
		err = fmt.Errorf("--archive-to: %w", err)
	}
	return place, err
}

// place is where the flags say, or nowhere.
func (t *archiveTo) place(getenv func(string) string) (bucket.Place, error) {
	if t.address == "" {
		if t.endpoint != "" {
			return bucket.Place{}, errors.New("an endpoint goes with an address s3://BUCKET/PREFIX")
		}
		return bucket.Place{}, nil
	}
	endpoint := cmp.Or(t.endpoint, getenv("AWS_ENDPOINT_URL_S3"), getenv("AWS_ENDPOINT_URL"))
	return bucket.ParsePlace(t.address, endpoint, cmp.Or(getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION")))
}

// namesBucket says whether an archive's address names a bucket, and no folder.
func namesBucket(address string) bool { return strings.HasPrefix(address, bucket.Scheme) }
