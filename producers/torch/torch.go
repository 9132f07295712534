// Package torch carries the collector, Python as it is, so that one executable can bring it into any environment.
package torch

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The kernel statistics.so is among the files if it was built before.
//
//go:embed boot src/tensortap/*.py src/tensortap/py.typed src/tensortap/*/*.py src/tensortap/_record/*.json src/tensortap/_stats/*.[ps]*
//go:embed stand_in/msprobe/*.py stand_in/msprobe/pytorch/*.py
var files embed.FS

// StandIn is the folder below an unpacked collector that has a module msprobe, which is tensortap.
const StandIn = "stand_in"

// Unpack writes the collector, once, into a folder below base that is named by its content, and returns the
// entry for PYTHONPATH. Callers may overlap.
func Unpack(base string) (string, error) {
	name, err := contentName()
	if err != nil {
		return "", err
	}
	target := filepath.Join(base, name)
	if _, err := os.Stat(target); err == nil {
		return target, nil
	}
	if err := os.MkdirAll(base, 0o750); err != nil {
		return "", fmt.Errorf("make the folder of the collector: %w", err)
	}
	fresh, err := os.MkdirTemp(base, "unpacking-")
	if err != nil {
		return "", fmt.Errorf("unpack the collector: %w", err)
	}
	if err = unpack(fresh); err == nil {
		err = os.Rename(fresh, target)
	}
	left := os.RemoveAll(fresh)
	if _, missing := os.Stat(target); missing == nil {
		return target, left // by this call, or by another meanwhile
	}
	return "", fmt.Errorf("unpack the collector into %s: %w", target, errors.Join(err, left))
}

// unpack writes the files. The files of boot lie beside the package.
func unpack(target string) error {
	return walk(func(path string, content []byte) error {
		for _, folder := range []string{"boot", "src"} {
			path = strings.TrimPrefix(path, folder+"/")
		}
		path = filepath.Join(target, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return err
		}
		return os.WriteFile(path, content, 0o600)
	})
}

func contentName() (string, error) {
	hash := sha256.New()
	err := walk(func(path string, content []byte) error {
		_, err := fmt.Fprintf(hash, "%s\x00%d\x00%s", path, len(content), content)
		return err
	})
	return "collector-" + hex.EncodeToString(hash.Sum(nil)[:8]), err
}

func walk(visit func(path string, content []byte) error) error {
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		return visit(path, content)
	})
}
