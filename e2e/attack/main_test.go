// Package attack holds what another user of the machine, and the pages that a browser shows, try against a running system.
package attack

import (
	"fmt"
	"os"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// TestMain lets the test binary be the stranger, under the uid that it was started with.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "stranger" {
		if err := beStranger(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	status := program.Main(m)
	if err := common.end(); err != nil {
		fmt.Fprintln(os.Stderr, "end the victim's system:", err)
		status = max(status, 1)
	}
	os.Exit(status)
}
