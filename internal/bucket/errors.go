package bucket

import (
	"errors"
	"fmt"

	"github.com/minio/minio-go/v7"
)

// ErrMissing says that an object is not there. Its caller names what that object held.
var ErrMissing = errors.New("the object is missing")

// said says what was being done, and what to do about the server's answer.
func (b *Bucket) said(doing string, err error) error {
	if err == nil {
		return nil
	}
	where := b.place.String()
	if b.place.Endpoint != "" {
		where += " at " + b.place.Endpoint
	}
	answer := minio.ToErrorResponse(err)
	if answer.Code == minio.NoSuchKey {
		return fmt.Errorf("%s in %s: %w", doing, where, ErrMissing)
	}
	if advice := b.advice(answer.Code); advice != "" {
		return fmt.Errorf("%s in %s: %s (%s)", doing, where, advice, answer.Code)
	}
	return fmt.Errorf("%s in %s: %w", doing, where, err)
}

// advice explains the answers that a person can do something about.
func (b *Bucket) advice(code string) string {
	switch code {
	case minio.NoSuchBucket:
		return fmt.Sprintf("there is no bucket %q: make it, its name may be another's", b.place.Bucket)
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "ExpiredToken", "XAdminUserNotFound": // the last of versitygw
		return "the credentials are not valid there: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the file of credentials"
	case minio.AccessDenied:
		if b.anonymous() {
			return "there are no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write a file ~/.aws/credentials or that of AWS_SHARED_CREDENTIALS_FILE"
		}
		return "the credentials lack the right to: they need s3:ListBucket, s3:GetObject, s3:PutObject and s3:DeleteObject"
	case "RequestTimeTooSkewed":
		return "the clock of this host is off: set it by NTP"
	}
	return ""
}

func (b *Bucket) anonymous() bool {
	value, err := b.client.GetCreds()
	return err == nil && value.AccessKeyID == ""
}
