package system

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/pipelines"
)

// remedy adds to an error of a start what to do where files are damaged.
func (s *System) remedy(err error) error {
	var ended *exec.ExitError
	if s.engine != nil && errors.As(err, &ended) {
		return fmt.Errorf("%w\nif files of the engine are damaged, move %s away and run `tensortap restore`: it makes the tables again", err, s.cfg.Folder.clickhouse())
	}
	var refused *jetstream.APIError
	if s.nats != nil && errors.As(err, &refused) && refused.ErrorCode == jetstream.JSErrCodeConsumerCreate {
		consumers := filepath.Join(s.cfg.Folder.nats(), "jetstream", "*", "streams", pipelines.StreamName, "obs")
		return fmt.Errorf("%w\nif its files are damaged, remove %s and start again: the stream is delivered once more, and nothing is stored twice", err, consumers)
	}
	return err
}
