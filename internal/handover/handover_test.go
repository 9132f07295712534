package handover_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/tensortap/tensortap/internal/handover"
)

func TestTheTerminalsSocketLiesInAFolderThatIsThisUsersAlone(t *testing.T) {
	t.Parallel()
	input, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close() //nolint:errcheck // only read
	lender, err := handover.Open(input)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Dir(lender.Path())
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := lender.Serve(ended); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}
