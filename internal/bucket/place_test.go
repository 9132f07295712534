package bucket_test

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/bucket"
)

func TestPlacesAreReadAndShown(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"s3://backup":             "s3://backup",
		"s3://backup/":            "s3://backup",
		"s3://backup/a/b c/größe": "s3://backup/a/b c/größe",
		"s3://backup/a/":          "s3://backup/a",
	} {
		p, err := bucket.ParsePlace(address, "http://127.0.0.1:9000", "")
		if err != nil || p.String() != want || !p.Named() {
			t.Errorf("ParsePlace(%q) = %v, %v, want %s", address, p, err, want)
		}
	}
	if (bucket.Place{}).Named() {
		t.Error("the zero value is a place")
	}
}

func TestWhatIsNoPlaceIsSaid(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ address, endpoint, want string }{
		{"", "", "want s3://bucket"},
		{"/backup", "", "want s3://bucket"},
		{"s3://", "", "bucket \"\""},
		{"s3://UPPER/x", "", "bucket \"UPPER\""},
		{"s3://key:secret@backup/x", "", "holds no user, password or port"},
		{"s3://backup/a//b", "", "an empty part"},
		{"s3://backup//a", "", "an empty part"},
		{"s3://backup/../other", "", "an empty part, or"},
		{"s3://backup/a/./b", "", "an empty part, or"},
		{"s3://backup/a\nb", "", "no text"},
		{"s3://backup/\xff", "", "no text"},
		{"s3://backup/" + strings.Repeat("a", 600), "", "600 bytes, want at most 512"},
		{"s3://backup", "minio:9000", "want http://host:port"},
		{"s3://backup", "http://minio:port", "cannot be read as a URL"},
		{"s3://backup", "ftp://minio", "want http://host:port"},
		{"s3://backup", "https://minio/path", "want http://host:port"},
		{"s3://backup", "https://key:secret@minio", "holds no user or password"},
	} {
		_, err := bucket.ParsePlace(c.address, c.endpoint, "")
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("ParsePlace(%q, %q) = %v, want %q", c.address, c.endpoint, err, c.want)
		}
	}
}
