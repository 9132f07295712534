package api

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// looks is how often a connection is looked for: the kernel's table changes while it is read, and may lack a line then.
const looks = 5

// errNoPeer says that the kernel does not know the other end.
var errNoPeer = errors.New("the system does not say which user asks")

// peerUser is the user of this machine who has the other end of a connection within it.
func peerUser(connection net.Conn) (int, error) {
	here, err := netip.ParseAddrPort(connection.LocalAddr().String())
	if err != nil {
		return 0, err
	}
	there, err := netip.ParseAddrPort(connection.RemoteAddr().String())
	if err != nil {
		return 0, err
	}
	for range looks {
		for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
			user, err := userIn(table, inKernelsWords(there), inKernelsWords(here))
			if err == nil {
				return user, nil
			}
			if !errors.Is(err, errNoPeer) && !errors.Is(err, fs.ErrNotExist) {
				return 0, err
			}
		}
	}
	return 0, errNoPeer
}

// userIn finds the user of a connection in a table. An address has one text in each table.
func userIn(table string, local, remote []string) (int, error) {
	file, err := os.Open(table) //nolint:gosec // one of two
	if err != nil {
		return 0, fmt.Errorf("look who asks: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 7 && slices.Contains(local, fields[1]) && slices.Contains(remote, fields[2]) {
			return strconv.Atoi(fields[7])
		}
	}
	if err := lines.Err(); err != nil {
		return 0, fmt.Errorf("look who asks: %w", err)
	}
	return 0, errNoPeer
}

// inKernelsWords is an address as the tables have it, of version 4 also as one of version 6: words of four bytes, the last byte first.
func inKernelsWords(place netip.AddrPort) []string {
	address := place.Addr().Unmap()
	port := fmt.Sprintf(":%04X", place.Port())
	long := address.As16()
	texts := []string{words(long[:]) + port}
	if address.Is4() {
		short := address.As4()
		texts = append(texts, words(short[:])+port)
	}
	return texts
}

func words(address []byte) string {
	turned := make([]byte, 0, len(address))
	for word := range slices.Chunk(address, 4) {
		turned = binary.LittleEndian.AppendUint32(turned, binary.BigEndian.Uint32(word))
	}
	return strings.ToUpper(hex.EncodeToString(turned))
}

// ofThisUser says whether this process's user, or root, has the other end of the connection.
func ofThisUser(connection net.Conn) error {
	user, err := peerUser(connection)
	if err != nil {
		return err
	}
	if user != 0 && user != os.Geteuid() {
		return fmt.Errorf("user %d of this machine asks, who did not start this server: tensortap serve --tokens FILE serves others", user)
	}
	return nil
}
