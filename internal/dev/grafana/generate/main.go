// Command generate writes deploy/grafana from what package grafana declares. Its argument is that folder.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tensortap/tensortap/internal/dev/grafana"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func write(arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("want one argument: the folder to write")
	}
	files, err := grafana.Files()
	if err != nil {
		return err
	}
	for _, folder := range []string{"dashboards", "datasources", "alerting"} {
		if err := os.RemoveAll(filepath.Join(arguments[0], folder)); err != nil {
			return fmt.Errorf("remove the files of before: %w", err)
		}
	}
	for name, content := range files {
		file := filepath.Join(arguments[0], filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // files of the repository
			return fmt.Errorf("make a folder: %w", err)
		}
		if err := os.WriteFile(file, content, 0o644); err != nil { //nolint:gosec // files of the repository
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}
