package system

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tensortap/tensortap/analysis/report"
)

// IsPath says whether a user who may name a run or a folder means a folder: it
// is written with a separator, as ./dump or dump/, or is . or ... What lies in
// the working directory has no say, so that a folder never hides a run.
func IsPath(name string) bool {
	return name == "." || name == ".." || strings.ContainsRune(name, filepath.Separator)
}

// checkFolder refuses a folder that is not there.
func checkFolder(name string) error {
	if !IsPath(name) {
		return nil
	}
	_, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no such folder: %s", name)
	}
	return err
}

// checkNamed says whether a run of that name is stored, where a folder could have been meant.
func (c *Client) checkNamed(ctx context.Context, run string) error {
	if err := c.CheckRun(ctx, run); err != nil {
		return fmt.Errorf("%w%s", err, FolderHint(run))
	}
	return nil
}

// FolderHint is how to name the folder of that name, where there is one; else it is empty.
func FolderHint(run string) string {
	if _, err := os.Stat(run); err != nil || IsPath(run) {
		return ""
	}
	return "; for the folder of that name write " + report.Argument("./"+run)
}
