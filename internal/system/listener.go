package system

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// dialer is nil unless the address has one of the secrets that this folder's system made: those only that system is to see.
func (f Folder) dialer(address string) *ownDialer {
	place, err := url.Parse(address)
	if err != nil || place.User == nil || place.Hostname() != "127.0.0.1" {
		return nil
	}
	data, err := os.ReadFile(f.secrets())
	var own credentials
	if err != nil || json.Unmarshal(data, &own) != nil {
		return nil
	}
	secret, ok := place.User.Password()
	if !ok {
		secret = place.User.Username()
	}
	if secret != own.Token && secret != own.Owner && secret != own.Reader {
		return nil
	}
	return &ownDialer{Dialer: net.Dialer{Timeout: 5 * time.Second}, trusted: []int{0, os.Geteuid(), f.keeper()}}
}

// keeper is the user to whom the folder's secrets belong; root may ask in their place.
func (f Folder) keeper() int {
	info, err := os.Stat(f.secrets())
	if err != nil {
		return os.Geteuid()
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return os.Geteuid()
	}
	return int(status.Uid)
}

// ownDialer connects to servers of trusted users alone: after a system has ended, another user may take its port, and
// would be told its passwords by whoever reconnects.
type ownDialer struct {
	net.Dialer
	trusted []int
}

// Dial implements nats.CustomDialer.
func (d *ownDialer) Dial(network, address string) (net.Conn, error) {
	return d.checked(d.Dialer.Dial(network, address))
}

func (d *ownDialer) dialContext(ctx context.Context, address string) (net.Conn, error) {
	return d.checked(d.DialContext(ctx, "tcp", address))
}

func (d *ownDialer) checked(connection net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	if err := d.checkListener(connection.RemoteAddr().String()); err != nil {
		return nil, errors.Join(err, connection.Close())
	}
	return connection, nil
}

// checkListener returns an error unless a trusted user listens there. Where the kernel does not say who does, it
// returns none.
func (d *ownDialer) checkListener(address string) error {
	_, service, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return err
	}
	users, err := listeners(port)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && len(users) == 0 {
		err = fmt.Errorf("nobody listens on %s any more: %w", address, syscall.ECONNREFUSED)
	}
	for _, user := range users {
		if !slices.Contains(d.trusted, user) {
			err = fmt.Errorf("another user, %d, listens on %s: no password was sent there", user, address)
		}
	}
	return err
}

// listeners are the users who listen on that port of 127.0.0.1 or of every address.
func listeners(port uint64) ([]int, error) {
	users, err := listenersIn("/proc/net/tcp", port)
	if err != nil {
		return nil, err
	}
	more, err := listenersIn("/proc/net/tcp6", port)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return append(users, more...), err
}

func listenersIn(table string, port uint64) ([]int, error) {
	file, err := os.Open(table) //nolint:gosec // one of two
	if err != nil {
		return nil, fmt.Errorf("look who listens: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	var users []int
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || fields[3] != "0A" || !reaches(fields[1], port) {
			continue
		}
		user, err := strconv.Atoi(fields[7])
		if err != nil {
			return nil, fmt.Errorf("look who listens: %w", err)
		}
		users = append(users, user)
	}
	return users, lines.Err()
}

// reaches says whether who listens there, in the kernel's words, gets connections to that port of 127.0.0.1.
func reaches(local string, port uint64) bool {
	const loopback = "0100007F"
	address, service, _ := strings.Cut(local, ":")
	listening, err := strconv.ParseUint(service, 16, 16)
	return err == nil && listening == port && (strings.HasSuffix(address, loopback) || strings.Trim(address, "0") == "")
}
