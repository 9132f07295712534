package receiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Login is what a server asks for; all empty where it asks for nothing.
type Login struct{ Username, Password, Token string }

func (l Login) apply(request *http.Request) {
	switch {
	case l.Token != "":
		request.Header.Set("Authorization", "Bearer "+l.Token)
	case l.Username != "":
		request.SetBasicAuth(l.Username, l.Password)
	}
}

// mostAnswer bounds what is read of an answer that refuses.
const mostAnswer = 300

// post sends JSON. Its error has neither the address, which may be a secret, nor the login.
func post(ctx context.Context, address string, body []byte, login Login) error {
	ctx, cancel := context.WithTimeout(ctx, SendTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return withoutAddress(err)
	}
	request.Header.Set("Content-Type", "application/json")
	login.apply(request)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return withoutAddress(err)
	}
	defer response.Body.Close() //nolint:errcheck // only read
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusMultipleChoices {
		answer, _ := io.ReadAll(io.LimitReader(response.Body, mostAnswer)) // it only explains the status
		return fmt.Errorf("answers %s: %s", response.Status, strings.TrimSpace(string(answer)))
	}
	return nil
}

// withoutAddress is the cause of an error of HTTP alone.
func withoutAddress(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

// withoutSecrets is an address without login, and of its path and query nothing.
func withoutSecrets(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "(address that cannot be read)"
	}
	return parsed.Scheme + "://" + parsed.Host
}
