package embedded

import (
	"encoding/xml"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/sql"
)

// ownServer says what the reader of a server of one's own may do.
const ownServer = "../../deploy/clickhouse/users.d/tensortap.xml"

// TestTheReaderMaySetWhatViewsAndReportsSet: else a report answers the owner and not the reader, or a server of one's own does not.
func TestTheReaderMaySetWhatViewsAndReportsSet(t *testing.T) {
	t.Parallel()
	allowed := changeableByReader()
	slices.Sort(allowed)
	if own := changeableThere(t); !slices.Equal(own, allowed) {
		t.Errorf("%s lets the reader change\n%q, the engine of this program\n%q", ownServer, own, allowed)
	}
	set := settingsOf(t)
	if len(set) == 0 {
		t.Fatal("no file sets anything: the test does not see settings any more")
	}
	for file, names := range set {
		for _, name := range names {
			if !slices.Contains(allowed, name) {
				t.Errorf("%s sets %s, which the reader may not", file, name)
			}
		}
	}
}

// changeableThere are the settings that the file has the reader change.
func changeableThere(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile(ownServer)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Constraints struct {
			Settings []struct {
				XMLName    xml.Name
				Changeable *struct{} `xml:"changeable_in_readonly"`
			} `xml:",any"`
		} `xml:"profiles>reader>constraints"`
	}
	if err := xml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, setting := range file.Constraints.Settings {
		if setting.Changeable != nil {
			names = append(names, setting.XMLName.Local)
		}
	}
	slices.Sort(names)
	return names
}

// settingsOf are the settings that queries of the reader choose, by file.
func settingsOf(t *testing.T) map[string][]string {
	t.Helper()
	clause, setting := regexp.MustCompile(`\bSETTINGS\s([^)]*)`), regexp.MustCompile(`(\w+)\s*=`)
	comment := regexp.MustCompile(`(?m)--.*$`)
	found := map[string][]string{}
	for _, folder := range []string{"views", "reports", "alerts"} {
		files, err := fs.Glob(sql.Files, path.Join(folder, "*.sql"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, file := range files {
			text, err := sql.Files.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, chosen := range clause.FindAllStringSubmatch(comment.ReplaceAllString(string(text), ""), -1) {
				for _, name := range setting.FindAllStringSubmatch(chosen[1], -1) {
					found[file] = append(found[file], strings.ToLower(name[1]))
				}
			}
		}
	}
	return found
}
