package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// The files that name what a release holds or needs beside modules of Go.
const (
	pinnedEngine   = "internal/embedded/libchdb/package-lock.json"
	pinnedCompiler = "producers/torch/requirements-release.txt"
)

// release is what a software bill of materials is written for.
type release struct {
	version  string
	made     time.Time
	programs []string // built by Go, for each platform
}

// writeBill writes the bill as CycloneDX JSON: a function of the programs and of the pins alone.
func (r release) writeBill(ctx context.Context, to io.Writer) error {
	modules, goVersion, err := builtOf(r.programs)
	if err != nil {
		return err
	}
	components, err := libraries(ctx, modules)
	if err != nil {
		return err
	}
	components = append(components, library("std", strings.TrimPrefix(goVersion, "go"), "BSD-3-Clause"))
	others, err := besideGo()
	if err != nil {
		return err
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.made.UTC().Format(time.RFC3339),
		Component: &cdx.Component{Type: cdx.ComponentTypeApplication, BOMRef: "tensortap", Name: "tensortap", Version: r.version, Licenses: licences("Apache-2.0")},
	}
	page, err := inBill()
	if err != nil {
		return err
	}
	components = append(append(components, others...), page...)
	bom.Components = &components
	return cdx.NewBOMEncoder(to, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
}

// builtOf reads from the programs what they are linked from.
func builtOf(programs []string) (modules []module, goVersion string, err error) {
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, "", fmt.Errorf("read what %s is built of: %w", program, err)
		}
		goVersion = info.GoVersion
		for _, dep := range info.Deps {
			if dep.Replace != nil {
				return nil, "", fmt.Errorf("%s is linked from a replacement of %s, which the bill cannot name", program, dep.Path)
			}
			modules = append(modules, module{Path: dep.Path, Version: dep.Version})
		}
	}
	slices.SortFunc(modules, func(a, b module) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Version, b.Version))
	})
	return slices.Compact(modules), goVersion, nil
}

// libraries are the modules with their licences, read from their sources.
func libraries(ctx context.Context, modules []module) ([]cdx.Component, error) {
	arguments := []string{"list", "-m", "-json"}
	for _, m := range modules {
		arguments = append(arguments, m.Path+"@"+m.Version)
	}
	out, err := exec.CommandContext(ctx, "go", arguments...).Output() //nolint:gosec // of a program that we built
	if err != nil {
		return nil, fmt.Errorf("find the sources of modules: %w", err)
	}
	var components []cdx.Component
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var m module
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			return components, nil
		}
		if err != nil {
			return nil, fmt.Errorf("find the sources of modules: %w", err)
		}
		licence, err := licenceOf(m)
		if err != nil {
			return nil, err
		}
		components = append(components, library(m.Path, m.Version, licence))
	}
}

// library is a module of Go.
func library(path, version, licence string) cdx.Component {
	url := "pkg:golang/" + path + "@" + version
	return cdx.Component{
		Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: path, Version: version, Scope: cdx.ScopeRequired, Licenses: licences(licence), PackageURL: url,
	}
}

// besideGo is what no program of Go is linked from: the engine's library, which users fetch; the compiler, of whose
// library some functions are in the kernel; PyTorch, which the wheels need and do not hold.
func besideGo() ([]cdx.Component, error) {
	engine, err := engineLibrary()
	if err != nil {
		return nil, err
	}
	pins, err := pinned([]string{pinnedCompiler})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(pins, func(p pin) bool { return p.name == "ziglang" })
	if at < 0 {
		return nil, fmt.Errorf("%s does not pin ziglang", pinnedCompiler)
	}
	compiler := "pkg:pypi/ziglang@" + pins[at].version
	return []cdx.Component{
		engine,
		{
			Type: cdx.ComponentTypeLibrary, BOMRef: compiler, Name: "ziglang", Version: pins[at].version, Scope: cdx.ScopeRequired, Licenses: licences("MIT"),
			PackageURL: compiler, Description: "The compiler of the collector's kernel, of whose compiler_rt some functions are linked into it.",
		},
		{
			Type: cdx.ComponentTypeLibrary, BOMRef: "pkg:pypi/torch", Name: "torch", Scope: cdx.ScopeOptional, PackageURL: "pkg:pypi/torch",
			Description: "Needed by the wheels, 2.4 or later, and not part of them.",
		},
	}, nil
}

// engineLibrary is the package of the ClickHouse engine as the lock pins it.
func engineLibrary() (cdx.Component, error) {
	text, err := os.ReadFile(pinnedEngine)
	if err != nil {
		return cdx.Component{}, err
	}
	var lock struct {
		Packages map[string]struct{ Version, Integrity, License string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return cdx.Component{}, fmt.Errorf("read %s: %w", pinnedEngine, err)
	}
	for path, p := range lock.Packages {
		name, found := strings.CutPrefix(path, "node_modules/")
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(p.Integrity, "sha512-"))
		if !found || err != nil {
			continue
		}
		url := "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version
		return cdx.Component{
			Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: name, Version: p.Version, Scope: cdx.ScopeOptional, Licenses: licences(p.License), PackageURL: url,
			Hashes:      &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA512, Value: hex.EncodeToString(sum)}},
			Description: "ClickHouse as a library, for linux/amd64. Not part of the release: `tensortap engine install` fetches it.",
		}, nil
	}
	return cdx.Component{}, fmt.Errorf("%s pins no package with its hash", pinnedEngine)
}

func licences(id string) *cdx.Licenses {
	return &cdx.Licenses{{License: &cdx.License{ID: id}}}
}

// writeNotices writes the licences and notices of all modules whole, as they ask of who hands their code on.
func writeNotices(ctx context.Context, to io.Writer) error {
	modules, err := linked(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(to, "The program tensortap is linked from the modules below. Their licences and notices follow, whole.")
	for _, m := range modules {
		files, err := textsOf(m, "LICEN", "COPYING", "NOTICE")
		if err != nil {
			return err
		}
		for _, f := range files {
			fmt.Fprintf(to, "\n%s\n%s %s, %s\n\n%s", strings.Repeat("=", 80), m.Path, m.Version, f.name, f.text)
		}
	}
	return pageNotices(to)
}
