package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestALicenceIsWhatThePackageNames(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"MIT":         "Name: a\nVersion: 1\nLicense: old words\nLicense-Expression: MIT\n\nLong description\n",
		"BSD":         "Name: a\nVersion: 1\nLicense: BSD\nClassifier: License :: OSI Approved :: BSD License\n\n",
		"MIT License": "Name: a\nVersion: 1\nLicense: " + strings.Repeat("Permission is hereby granted ", 9) + "\nClassifier: License :: OSI Approved :: MIT License\n\n",
		"":            "Name: a\nVersion: 1\n\n",
	} {
		file := filepath.Join(t.TempDir(), "METADATA")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if p, got, err := readMetadata(file); err != nil || got != want || p != (pin{"a", "1"}) {
			t.Errorf("licence of %q is %q, of %v, %v; want %q", text, got, p, err, want)
		}
	}
	const page = "| a | 1 | MIT |\n| b-c | 2.0 | BSD |\n"
	if got := written(page, pin{"b-c", "2.0"}); got != "BSD" {
		t.Errorf("the page says %q of b-c 2.0, want BSD", got)
	}
	if got := written(page, pin{"b-c", "2.1"}); got != "" {
		t.Errorf("the page says %q of a version that it does not have", got)
	}
}
