package system

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tensortap/tensortap/analysis/report"
)

// IsFolder says whether a user who may name a run or a folder means a folder: the name is written as a path, and
// something is there. A name without a separator is never one, so that a folder in the working directory hides no run.
func IsFolder(name string) bool {
	if !writtenAsPath(name) {
		return false
	}
	_, err := os.Stat(name)
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// writtenAsPath says whether a name has a separator, as ./dump or dump/, or is . or ... A run may be named so, too.
func writtenAsPath(name string) bool {
	return name == "." || name == ".." || strings.ContainsRune(name, filepath.Separator)
}

// SameSide says whether two names that a user wrote are of the same run or folder.
func SameSide(one, other string) bool {
	if !IsFolder(one) || !IsFolder(other) {
		return one == other
	}
	first, err := os.Stat(one)
	if err != nil {
		return false
	}
	second, err := os.Stat(other)
	return err == nil && os.SameFile(first, second)
}

// checkFolder refuses a folder that cannot be looked at.
func checkFolder(name string) error {
	if !IsFolder(name) {
		return nil
	}
	_, err := os.Stat(name)
	return err
}

// checkNamed says whether a run of that name is stored, where a folder could have been meant.
func (c *Client) checkNamed(ctx context.Context, run string) error {
	err := c.CheckRun(ctx, run)
	switch {
	case err == nil:
		return nil
	case writtenAsPath(run):
		return fmt.Errorf("no such folder: %s; and %w", run, err)
	}
	return fmt.Errorf("%w%s", err, folderHint(run))
}

// NamesRun says why a name is taken for that of a run, and how to name the folder instead, where there is one.
func NamesRun(name string) string {
	if writtenAsPath(name) {
		return "no such folder: " + name + ", so it is the name of a run"
	}
	return name + " is the name of a run" + folderHint(name)
}

// folderHint is how to name the folder of that name, where there is one; else it is empty.
func folderHint(run string) string {
	if _, err := os.Stat(run); err != nil || writtenAsPath(run) {
		return ""
	}
	return "; for the folder of that name write " + report.Argument("./"+run)
}
