// Package libchdb pins the ClickHouse engine's shared library, finds it, checks it and installs it.
//
// The pin is package.json and package-lock.json in this folder, for npm, and the constants below, for the
// unpacked file. The lock names no server: npm uses the one it is configured for, and the integrity hash decides.
//
// Pinned and tested: linux/amd64 with glibc (tested on 2.36). By its symbol versions the library asks for glibc
// 2.4 only; musl (Alpine) cannot load it. Any other platform uses a ClickHouse server of its own.
package libchdb

import (
	_ "embed" // the pin is embedded, so that a binary alone can fetch the library
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// The pinned library. Integrity of the package is in package-lock.json.
const (
	// Version is the npm package's version.
	Version = "26.7.3-stable.1"
	// FileName is the library's name in the package and where it is installed.
	FileName = "libchdb.so"
	// Size is the library's size in bytes.
	Size = 566330096
	// SHA256 is the library's digest, hexadecimal.
	SHA256 = "36ad4e999882821ef13cf2d0f52c93f48e6ee1b4498b35a201c23ce4b8d15bf5"

	packageName = "@chdb/lib-linux-x64-gnu"
	treeFolder  = "internal/embedded/libchdb/node_modules/" + packageName
	remedy      = "run `tensortap engine install` (with --from FILE where there is no network), or `make engine` in the source tree"
)

//go:embed package.json
var manifest []byte

//go:embed package-lock.json
var lock []byte

// Places are where Locate looks, in this order. An empty one is passed over.
type Places struct {
	// Explicit is the library's path as the user gave it (flag or TENSORTAP_ENGINE). If set, no other place counts.
	Explicit string
	// UserFolder is the per-user folder that Install fills; see UserFolder.
	UserFolder string
	// Tree is a folder in the source tree, or below it: the executable's own. Never pass the working folder:
	// code is loaded from here.
	Tree string
}

// UserFolder returns the per-user folder: dataHome ($XDG_DATA_HOME) or else ~/.local/share, then tensortap/engine.
func UserFolder(home, dataHome string) string {
	if dataHome == "" {
		dataHome = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(dataHome, "tensortap", "engine")
}

// Path returns where in a per-user folder this version's library lies. Versions lie side by side.
func Path(userFolder string) string {
	return filepath.Join(userFolder, Version, FileName)
}

// Locate finds the library and checks it as Check does. Its error names the command that mends the fault.
func Locate(places Places) (string, error) {
	if err := Supported(); err != nil {
		return "", err
	}
	if places.Explicit != "" {
		return places.Explicit, Check(places.Explicit)
	}
	for _, path := range places.candidates() {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if err := places.trusted(path); err != nil {
			return "", err
		}
		return path, Check(path)
	}
	return "", fmt.Errorf("find the ClickHouse engine library %s: it is not installed; %s", Version, remedy)
}

// candidates lists the paths to try: the per-user folder, then the source tree from Tree upwards.
func (p Places) candidates() []string {
	var paths []string
	if p.UserFolder != "" {
		paths = append(paths, Path(p.UserFolder))
	}
	if p.Tree == "" {
		return paths
	}
	for folder := filepath.Clean(p.Tree); ; folder = filepath.Dir(folder) {
		paths = append(paths, filepath.Join(folder, filepath.FromSlash(treeFolder), FileName))
		if folder == filepath.Dir(folder) {
			return paths
		}
	}
}

// Supported returns an error on a platform that the pin does not cover.
func Supported() error {
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		return nil
	}
	return fmt.Errorf("the embedded ClickHouse engine is pinned for linux/amd64 and glibc, this is %s/%s: give the DSN of a ClickHouse server instead (--clickhouse)",
		runtime.GOOS, runtime.GOARCH)
}

// integrity returns the package's integrity hash from the lock: "sha512-" and base64.
func integrity() (string, error) {
	var parsed struct {
		Packages map[string]struct {
			Integrity string `json:"integrity"`
		} `json:"packages"`
	}
	if err := json.Unmarshal(lock, &parsed); err != nil {
		return "", fmt.Errorf("read the embedded package-lock.json: %w", err)
	}
	return parsed.Packages["node_modules/"+packageName].Integrity, nil
}
