package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// The program of this test is linked from modules, too.
func TestABillNamesWhatAProgramIsLinkedFrom(t *testing.T) {
	t.Chdir("../../..")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var text, again bytes.Buffer
	for _, to := range []*bytes.Buffer{&text, &again} {
		if err := (release{"v1.2.3", time.Unix(1, 0), []string{self, self}}).writeBill(t.Context(), to); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(text.Bytes(), again.Bytes()) {
		t.Error("two bills of one program differ")
	}
	var bill cdx.BOM
	if err := cdx.NewBOMDecoder(&text, cdx.BOMFileFormatJSON).Decode(&bill); err != nil {
		t.Fatal(err)
	}
	if bill.Metadata.Timestamp != "1970-01-01T00:00:01Z" || bill.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("the bill is of %+v", bill.Metadata)
	}
	for _, part := range []string{"pkg:golang/github.com/CycloneDX/cyclonedx-go@v", "pkg:golang/std@1.", "pkg:npm/%40chdb/", "pkg:npm/svelte@5", "pkg:pypi/ziglang@", "pkg:pypi/torch"} {
		found := 0
		for _, c := range *bill.Components {
			if strings.HasPrefix(c.PackageURL, part) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("the bill has %d components %s, want 1", found, part)
		}
	}
}
