package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// requirements are the files that pin what `make test` installs beside Go's modules.
func requirements() []string {
	return []string{"consumers/parquet/testdata/requirements.txt", "producers/torch/requirements-test.txt", "producers/torch/tests/neighbours.txt"}
}

// installed is the folder where the Makefile installs them, with the metadata of each package.
const installed = ".tools/*/lib/python*/site-packages/*.dist-info/METADATA"

// pythonPackages writes the packages that the tests fetch, each with its licence. The licence of a package not
// installed is taken from the page as it was, if its version is the same: so only a change of a pin needs an
// installation.
func pythonPackages(to io.Writer, page string) error {
	known, err := metadata()
	if err != nil {
		return err
	}
	pins, err := pinned(requirements())
	if err != nil {
		return err
	}
	fmt.Fprint(to, "\nNot linked and not part of any release, fetched for the tests by `make venv`, `make venv-torch` and `make neighbours`; licences as the packages name them:\n\n| package | version | licence |\n|---|---|---|\n")
	for _, p := range pins {
		licence := cmp.Or(known[p], written(page, p))
		if licence == "" {
			return fmt.Errorf("%s %s: its licence is not known before it is installed: make venv venv-torch neighbours", p.name, p.version)
		}
		fmt.Fprintf(to, "| %s | %s | %s |\n", p.name, p.version, licence)
	}
	return nil
}

// pin is a package in one version.
type pin struct{ name, version string }

// pinned reads files of lines name==version, and orders the packages.
func pinned(files []string) ([]pin, error) {
	var pins []pin
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			if name, version, found := strings.Cut(strings.TrimSpace(line), "=="); found && !strings.HasPrefix(name, "#") {
				pins = append(pins, pin{name, version})
			}
		}
	}
	slices.SortFunc(pins, func(a, b pin) int { return strings.Compare(a.name, b.name) })
	return slices.Compact(pins), nil
}

// metadata is the licences of all packages that are installed.
func metadata() (map[pin]string, error) {
	files, err := filepath.Glob(installed)
	if err != nil {
		return nil, err
	}
	known := map[pin]string{}
	for _, file := range files {
		p, licence, err := readMetadata(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		known[p] = licence
	}
	return known, nil
}

// longestName is the greatest length of a licence's name.
const longestName = 80

// readMetadata takes the first word on the licence that a package has, from the most exact to the vaguest.
func readMetadata(file string) (pin, string, error) {
	f, err := os.Open(file)
	if err != nil {
		return pin{}, "", err
	}
	defer f.Close() //nolint:errcheck // only read
	head, err := textproto.NewReader(bufio.NewReader(f)).ReadMIMEHeader()
	if err != nil && len(head) == 0 {
		return pin{}, "", err
	}
	name := regexp.MustCompile(`[-_.]+`).ReplaceAllString(strings.ToLower(head.Get("Name")), "-")
	classified := ""
	for _, class := range head.Values("Classifier") {
		if rest, ok := strings.CutPrefix(class, "License :: "); ok {
			classified = rest[strings.LastIndex(rest, ":")+1:]
		}
	}
	named := head.Get("License")
	if len(named) > longestName { // the whole text of it
		named = ""
	}
	licence := cmp.Or(head.Get("License-Expression"), named, strings.TrimSpace(classified))
	return pin{name, head.Get("Version")}, strings.ReplaceAll(licence, "|", "/"), nil
}

// written is the licence of the package on the page; empty when it is not there in that version.
func written(page string, p pin) string {
	_, rest, _ := strings.Cut(page, fmt.Sprintf("| %s | %s | ", p.name, p.version))
	licence, _, _ := strings.Cut(rest, " |\n")
	return licence
}
