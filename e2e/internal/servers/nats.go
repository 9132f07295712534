package servers

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// natsServer is the argument with which a test binary is a NATS server: FOLDER ADDRESS.
const natsServer = "test-nats-server"

// NATS is a server with JetStream on the disk, which it syncs before each acknowledgement, as deploy/nats/nats.conf has it.
type NATS struct {
	URL     string
	Process *program.Up
}

// StartNATS runs one until the test ends.
func StartNATS(tb testing.TB) *NATS {
	tb.Helper()
	address := testbed.FreeAddress(tb)
	return &NATS{"nats://" + address, start(tb, natsServer, tb.TempDir(), address)}
}

func beNATS(args []string) error {
	host, text, err := net.SplitHostPort(args[1])
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	const room = 64 << 30
	made, err := server.NewServer(&server.Options{
		ServerName: "one", JetStream: true, StoreDir: args[0], Host: host, Port: port, NoLog: true, NoSigs: true,
		MaxPayload: schemas.MaxMessageBytes + 64<<10, JetStreamMaxStore: room, SyncAlways: true,
	})
	if err != nil {
		return err
	}
	made.Start()
	if !made.ReadyForConnections(time.Minute) {
		return fmt.Errorf("the NATS server on %s is not ready after a minute", args[1])
	}
	if _, err := fmt.Fprintln(os.Stdout, ready); err != nil {
		return err
	}
	made.WaitForShutdown()
	return nil
}
