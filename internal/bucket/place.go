package bucket

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// Place is where objects lie. The zero value is no place. It holds no secret, and may be shown.
type Place struct {
	Bucket   string
	Prefix   string // that all names begin with, without a slash at its end; empty for the whole bucket
	Endpoint string // URL of the server; empty for Amazon's
	Region   string // empty where the server is asked for it
}

// Scheme begins the address of a place.
const Scheme = "s3://"

// longestPrefix leaves room for names: a key has 1,024 bytes at most.
const longestPrefix = 512

// ParsePlace reads an address as s3://bucket/prefix, and the URL of the server, which may be empty.
func ParsePlace(address, endpoint, region string) (Place, error) {
	rest, ok := strings.CutPrefix(address, Scheme)
	if !ok {
		return Place{}, fmt.Errorf("address %q: want s3://bucket or s3://bucket/prefix", address)
	}
	p := Place{Endpoint: endpoint, Region: region}
	p.Bucket, p.Prefix, _ = strings.Cut(rest, "/")
	if strings.ContainsAny(p.Bucket, "@:") {
		return Place{}, errors.New("an address of a bucket holds no user, password or port: credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or a file of credentials, a server is named by its endpoint")
	}
	if err := s3utils.CheckValidBucketNameStrict(p.Bucket); err != nil {
		return Place{}, fmt.Errorf("address %q: bucket %q: %w", address, p.Bucket, err)
	}
	p.Prefix = strings.TrimSuffix(p.Prefix, "/")
	if err := checkPrefix(p.Prefix); err != nil {
		return Place{}, fmt.Errorf("address %q: %w", address, err)
	}
	return p, checkEndpoint(endpoint)
}

func checkPrefix(prefix string) error {
	switch {
	case prefix == "":
		return nil
	case len(prefix) > longestPrefix:
		return fmt.Errorf("prefix of %d bytes, want at most %d", len(prefix), longestPrefix)
	case !utf8.ValidString(prefix) || strings.ContainsFunc(prefix, unicode.IsControl):
		return errors.New("prefix holds what is no text")
	case path.Clean(prefix) != prefix || strings.HasPrefix(prefix, "/") || strings.HasPrefix(prefix+"/", "../"):
		return errors.New("prefix holds an empty part, or the part . or .. alone")
	}
	return nil
}

func checkEndpoint(endpoint string) error {
	if endpoint == "" {
		return nil
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return errors.New("endpoint of the bucket: it cannot be read as a URL, as https://minio.local:9000")
	case u.User != nil:
		return errors.New("endpoint of the bucket: a URL there holds no user or password")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "":
		return fmt.Errorf("endpoint of the bucket: %q, want http://host:port or https://host:port", endpoint)
	}
	return nil
}

// String is the address.
func (p Place) String() string {
	if p.Prefix == "" {
		return Scheme + p.Bucket
	}
	return Scheme + p.Bucket + "/" + p.Prefix
}

// Named says whether it is a place.
func (p Place) Named() bool { return p.Bucket != "" }

// key is the whole name of an object.
func (p Place) key(name string) string { return path.Join(p.Prefix, name) }

// server is the host of the endpoint, and whether it is spoken to by TLS.
func (p Place) server() (host string, secure bool) {
	if p.Endpoint == "" {
		return "s3.amazonaws.com", true
	}
	scheme, host, _ := strings.Cut(p.Endpoint, "://")
	return strings.TrimSuffix(host, "/"), scheme == "https"
}
