package main

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// The page's packages, as its lock pins them.
const (
	pinnedPage = "web/package-lock.json"
	pageFolder = "web"
)

// npmPackage is one of those that the page is built of.
type npmPackage struct {
	name, version, licence string
	sum                    []byte // SHA-512
	dir                    string // where it is once it was fetched
}

// ofPage are the packages that are in the page, or may be: what only its tools need is left out.
func ofPage() ([]npmPackage, error) {
	text, err := os.ReadFile(pinnedPage)
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, Integrity, License string
			Dev, Optional               bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, fmt.Errorf("read %s: %w", pinnedPage, err)
	}
	var all []npmPackage
	for path, p := range lock.Packages {
		at := strings.LastIndex(path, "node_modules/")
		if at < 0 || p.Dev || p.Optional || strings.Contains(path, "/@types/") {
			continue
		}
		sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(p.Integrity, "sha512-"))
		if err != nil {
			return nil, fmt.Errorf("read the hash of %s: %w", path, err)
		}
		all = append(all, npmPackage{path[at+len("node_modules/"):], p.Version, p.License, sum, filepath.Join(pageFolder, path)})
	}
	slices.SortFunc(all, func(a, b npmPackage) int {
		return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.version, b.version))
	})
	return all, nil
}

// licenceOn is what the lock says, else the package itself if it was fetched, else the page THIRD_PARTY.md as it was.
func (p *npmPackage) licenceOn(page string) (string, error) {
	if p.licence != "" {
		return p.licence, nil
	}
	if licence, err := licenceOf(module{Path: p.name, Version: p.version, Dir: p.dir}); err == nil {
		return licence, nil
	}
	if licence := written(page, pin{p.name, p.version}); licence != "" {
		return licence, nil
	}
	return "", fmt.Errorf("%s %s: its licence is not known before it is fetched: make web", p.name, p.version)
}

func pagePackages(to io.Writer, page string) error {
	packages, err := ofPage()
	if err != nil {
		return err
	}
	fmt.Fprint(to, "\nThe page that the program carries is built of these npm packages:\n\n| package | version | licence |\n|---|---|---|\n")
	for i := range packages {
		licence, err := packages[i].licenceOn(page)
		if err != nil {
			return err
		}
		fmt.Fprintf(to, "| %s | %s | %s |\n", packages[i].name, packages[i].version, licence)
	}
	return nil
}

// inBill are the packages of the page as the bill of materials has them.
func inBill() ([]cdx.Component, error) {
	packages, err := ofPage()
	if err != nil {
		return nil, err
	}
	page, err := os.ReadFile(thirdParty)
	if err != nil {
		return nil, err
	}
	var components []cdx.Component
	for i := range packages {
		p := &packages[i]
		licence, err := p.licenceOn(string(page))
		if err != nil {
			return nil, err
		}
		url := "pkg:npm/" + strings.Replace(p.name, "@", "%40", 1) + "@" + p.version
		components = append(components, cdx.Component{
			Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: p.name, Version: p.version, Scope: cdx.ScopeRequired, Licenses: licences(licence), PackageURL: url,
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA512, Value: hex.EncodeToString(p.sum)}}, Description: "In the page.",
		})
	}
	return components, nil
}

// pageNotices writes the licences of the page's packages whole. They have to be fetched.
func pageNotices(to io.Writer) error {
	packages, err := ofPage()
	if err != nil {
		return err
	}
	fmt.Fprintln(to, "\nThe page in it is built of the npm packages below.")
	for i := range packages {
		p := &packages[i]
		files, err := textsOf(module{Dir: p.dir}, "LICEN", "COPYING", "NOTICE")
		if err != nil {
			return fmt.Errorf("read the licence of %s: %w: make web fetches it", p.name, err)
		}
		for _, f := range files {
			fmt.Fprintf(to, "\n%s\n%s %s, %s\n\n%s", strings.Repeat("=", 80), p.name, p.version, f.name, f.text)
		}
	}
	return nil
}
