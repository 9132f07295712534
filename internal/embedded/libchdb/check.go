package libchdb

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Check verifies that path is the pinned library. It always compares the size. It compares the digest once, and
// then records size and modification time in a file beside the library, so that a later check of the unchanged
// file costs no reading (half a second otherwise).
func Check(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("open the ClickHouse engine library: %w; %s", err, remedy)
	}
	if info.Size() != Size {
		return fmt.Errorf("the ClickHouse engine library %s is damaged or of another version: %d bytes, version %s has %d; %s",
			path, info.Size(), Version, Size, remedy)
	}
	if err := closed(path, info); err != nil {
		return err
	}
	if stamped(path, info) {
		return nil
	}
	digest, err := digestOf(path)
	if err != nil {
		return err
	}
	if digest != SHA256 {
		return fmt.Errorf("the ClickHouse engine library %s is damaged or of another version: sha256 %s, version %s has %s; %s",
			path, digest, Version, SHA256, remedy)
	}
	writeStamp(path, info)
	return nil
}

func digestOf(path string) (string, error) {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return "", fmt.Errorf("open the ClickHouse engine library: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read the ClickHouse engine library %s: %w", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func stampPath(library string) string { return library + ".checked" }

func stampText(info os.FileInfo) string {
	return fmt.Sprintf("sha256 %s size %d mtime_ns %d\n", SHA256, info.Size(), info.ModTime().UnixNano())
}

func stamped(library string, info os.FileInfo) bool {
	stamp, err := os.Stat(stampPath(library))
	if err != nil || !ownedBy(stamp, 0, os.Geteuid()) || closed(stampPath(library), stamp) != nil {
		return false // another user may have written it
	}
	text, err := os.ReadFile(stampPath(library))
	return err == nil && string(text) == stampText(info)
}

// writeStamp is best effort: where the folder cannot be written, the next check reads the library again.
func writeStamp(library string, info os.FileInfo) {
	_ = os.WriteFile(stampPath(library), []byte(stampText(info)), 0o600)
}
