// Package untar unpacks archives that are part of the tree or the program.
package untar

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Extract writes the files of an archive, packed by tar and gzip, below a folder. Names that lead out of it are an error.
func Extract(archive io.Reader, dir string) error {
	plain, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	for members := tar.NewReader(plain); ; {
		member, err := members.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !filepath.IsLocal(member.Name) {
			return fmt.Errorf("member %q leads out of the folder", member.Name)
		}
		if err := write(filepath.Join(dir, filepath.FromSlash(member.Name)), member, members); err != nil {
			return err
		}
	}
}

func write(path string, member *tar.Header, content io.Reader) error {
	if member.Typeflag == tar.TypeDir {
		return os.MkdirAll(path, 0o700)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	text, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
