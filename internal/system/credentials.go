package system

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/tensortap/tensortap/internal/durable"
)

// credentials are the secrets of a folder's servers. They stay the same, so
// that a dashboard that knows them finds the system again.
type credentials struct {
	Token  string `json:"nats_token"`
	Owner  string `json:"clickhouse_owner"`
	Reader string `json:"clickhouse_reader"`
}

// credentials reads the folder's secrets; at the first start it makes them.
func (f Folder) credentials() (credentials, error) {
	var c credentials
	data, err := os.ReadFile(f.secrets())
	if errors.Is(err, fs.ErrNotExist) {
		c = credentials{Token: rand.Text(), Owner: rand.Text(), Reader: rand.Text()}
		return c, writeJSON(f.secrets(), c)
	}
	if err != nil {
		return c, fmt.Errorf("read credentials: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("read credentials %s: %w; remove the file to have new ones made", f.secrets(), err)
	}
	return c, nil
}

// writeJSON writes a file for this user alone, whole or not at all.
func writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return durable.WriteFile(path, bytes.NewReader(append(data, '\n')))
}
