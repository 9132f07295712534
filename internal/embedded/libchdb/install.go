package libchdb

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Install verifies from, which is the npm package's .tgz or the bare library, and puts the library into the
// per-user folder. It returns the installed path. Only a verified file replaces an installed one.
func Install(ctx context.Context, from, userFolder string) (string, error) {
	source, err := open(ctx, from)
	if err != nil {
		return "", err
	}
	defer source.Close() //nolint:errcheck // only read
	target := Path(userFolder)
	if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
		return "", fmt.Errorf("install the ClickHouse engine library: %w", err)
	}
	if err := place(ctx, source, target); err != nil {
		return "", fmt.Errorf("install the ClickHouse engine library from %s: %w", from, err)
	}
	return target, nil
}

// Fetch has npm download the pinned package, verified by the integrity hash of the lock, and installs its library
// into the per-user folder. npm writes its messages to messages.
func Fetch(ctx context.Context, userFolder string, messages io.Writer) (string, error) {
	if err := Supported(); err != nil {
		return "", err
	}
	if err := os.MkdirAll(userFolder, 0o750); err != nil {
		return "", fmt.Errorf("fetch the ClickHouse engine library: %w", err)
	}
	folder, err := os.MkdirTemp(userFolder, "fetch-")
	if err != nil {
		return "", fmt.Errorf("fetch the ClickHouse engine library: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a leftover costs space only, and the next one has another name
	if err := npm(ctx, folder, messages); err != nil {
		return "", fmt.Errorf("fetch the ClickHouse engine library with npm: %w; or fetch the package %s@%s elsewhere and give it to `tensortap engine install --from FILE`",
			err, packageName, Version)
	}
	return Install(ctx, filepath.Join(folder, "node_modules", filepath.FromSlash(packageName), FileName), userFolder)
}

func npm(ctx context.Context, folder string, messages io.Writer) error {
	for name, content := range map[string][]byte{"package.json": manifest, "package-lock.json": lock} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	// No script of the package runs: only the library is wanted.
	command := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder)
	command.Stdout, command.Stderr = messages, messages
	return command.Run()
}

// open opens from as a stream of the library's bytes: a .tgz is verified against the lock and unpacked.
func open(ctx context.Context, from string) (io.ReadCloser, error) {
	file, err := os.Open(filepath.Clean(from))
	if err != nil {
		return nil, fmt.Errorf("install the ClickHouse engine library: %w", err)
	}
	magic := make([]byte, 2)
	if _, err = io.ReadFull(file, magic); err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return unpack(ctx, file)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", from, err), file.Close())
	}
	return file, nil
}

// packedFile is the library inside a package; closing it closes the package.
type packedFile struct {
	io.Reader
	io.Closer
}

func unpack(ctx context.Context, file *os.File) (io.ReadCloser, error) {
	reader, err := verified(ctx, file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	for {
		header, err := reader.Next()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("find %s in %s: %w", FileName, file.Name(), err), file.Close())
		}
		if path.Base(header.Name) == FileName {
			return packedFile{reader, file}, nil
		}
	}
}

// verified compares the package with the lock's integrity before a byte of it is unpacked.
func verified(ctx context.Context, file *os.File) (*tar.Reader, error) {
	want, err := integrity()
	if err != nil {
		return nil, err
	}
	sum := sha512.New()
	if _, err := io.Copy(sum, contextReader{ctx.Err, file}); err != nil {
		return nil, fmt.Errorf("read %s: %w", file.Name(), err)
	}
	got := "sha512-" + base64.StdEncoding.EncodeToString(sum.Sum(nil))
	if got != want {
		return nil, fmt.Errorf("%s is not the pinned package %s@%s: integrity %s, want %s", file.Name(), packageName, Version, got, want)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read %s: %w", file.Name(), err)
	}
	unzipped, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", file.Name(), err)
	}
	return tar.NewReader(unzipped), nil
}

// place copies source beside target, makes it durable, checks it, and renames it into place.
func place(ctx context.Context, source io.Reader, target string) error {
	file, err := os.CreateTemp(filepath.Dir(target), FileName+".partial-")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // gone after the rename
	// One byte more than the library has is enough to refuse a larger file.
	_, err = io.Copy(file, io.LimitReader(contextReader{ctx.Err, source}, Size+1))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := Check(file.Name()); err != nil {
		return errors.New(strings.TrimSuffix(err.Error(), "; "+remedy))
	}
	if err := os.Rename(file.Name(), target); err != nil {
		return err
	}
	// Best effort, as writing it is. An older library's stamp that stays names another time, so it vouches for nothing.
	_ = os.Rename(stampPath(file.Name()), stampPath(target))
	return nil
}

// contextReader ends a long copy when the context ends.
type contextReader struct {
	ended  func() error
	source io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ended(); err != nil {
		return 0, err
	}
	return r.source.Read(p)
}
