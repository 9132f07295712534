package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// client posts spans to a collector. The library's own brings all of gRPC with it, which made the program a quarter larger.
type client struct {
	url     string
	headers map[string]string
	gzip    bool
	http    *http.Client
}

// defaultTimeout is the standard's, in milliseconds.
const defaultTimeout = "10000"

// variable is the value of a setting for traces, or else for all that is told to collectors.
func (c Config) variable(name string) string {
	return cmp.Or(c.Getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), c.Getenv("OTEL_EXPORTER_OTLP_"+name))
}

func newClient(cfg Config) (*client, error) {
	address, err := cfg.address()
	if err != nil {
		return nil, err
	}
	milliseconds, err := strconv.ParseUint(cmp.Or(cfg.variable("TIMEOUT"), defaultTimeout), 10, 31)
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT=%s: want milliseconds", cfg.variable("TIMEOUT"))
	}
	headers, err := cfg.headers()
	if err != nil {
		return nil, err
	}
	trust, err := cfg.trust()
	if err != nil {
		return nil, err
	}
	return &client{
		url: address, headers: headers, gzip: cfg.variable("COMPRESSION") == "gzip",
		http: &http.Client{Timeout: time.Duration(milliseconds) * time.Millisecond, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: trust, ForceAttemptHTTP2: true}}, //nolint:gosec // 31 bits
	}, nil
}

// address is where spans are posted: that for traces as it is, that for all with the path of traces.
func (c Config) address() (string, error) {
	text := c.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if text == "" {
		text = strings.TrimSuffix(c.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), "/") + "/v1/traces"
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("the endpoint that OTEL_EXPORTER_OTLP_ENDPOINT names cannot be read: want http://HOST:4318 or https://HOST:4318") // it may hold a password
	}
	return text, nil
}

// headers are as in W3C's baggage: name=value, with commas between them, each escaped as in an address.
func (c Config) headers() (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(c.variable("HEADERS"), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || err != nil || name == "" {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS cannot be read: want NAME=VALUE,…, with % and what is no letter escaped as in an address") // it may hold a token
		}
		headers[name] = value
	}
	return headers, nil
}

// trust is whom the program takes for the collector, and who it is itself.
func (c Config) trust() (*tls.Config, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := c.variable("CERTIFICATE"); file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_CERTIFICATE: %s holds no certificate", file)
		}
	}
	if file := c.variable("CLIENT_CERTIFICATE"); file != "" {
		pair, err := tls.LoadX509KeyPair(file, c.variable("CLIENT_KEY"))
		if err != nil {
			return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: %w", err)
		}
		trust.Certificates = []tls.Certificate{pair}
	}
	return trust, nil
}

// Start implements otlptrace.Client.
func (*client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. A request to a collector has the bytes of TracesData.
func (c *client) UploadTraces(ctx context.Context, spans []*traces.ResourceSpans) error {
	body, err := proto.Marshal(&traces.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.gzip {
		body = zipped(body)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return errors.New("the endpoint of traces is no address") // it may hold a password
	}
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	request.Header.Set("Content-Type", "application/x-protobuf")
	if c.gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	return c.post(request)
}

func zipped(body []byte) []byte {
	var to bytes.Buffer
	w := gzip.NewWriter(&to)
	_, _ = w.Write(body) // memory takes everything
	_ = w.Close()
	return to.Bytes()
}

func (c *client) post(request *http.Request) error {
	response, err := c.http.Do(request)
	if failed := (*url.Error)(nil); errors.As(err, &failed) { // whose text has the address
		return fmt.Errorf("tell the collector at %s: %w", request.URL.Host, failed.Err)
	}
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // only read
	const most = 4 << 10
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, most)) // so that the connection is used again
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the collector at %s answers %s", request.URL.Host, response.Status)
	}
	return nil
}
