//go:build !linux

package api

import "net"

// ofThisUser cannot say who asks here.
func ofThisUser(net.Conn) error { return nil }
