package attack

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestEachTestThatThePageOnSecurityNamesIsThere(t *testing.T) {
	t.Parallel()
	const root = "../.."
	page, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := testsBelow(t, root)
	named := regexp.MustCompile("`(Test\\w+|test_\\w+)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 15 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, name := range named {
		if !tests[name[1]] {
			t.Errorf("the page names %s, which is no test", name[1])
		}
	}
}

// testsBelow are the names of all tests, of Go and of Python.
func testsBelow(t *testing.T, root string) map[string]bool {
	t.Helper()
	tests, declared := map[string]bool{}, regexp.MustCompile(`(?m)^(?:func|def) ((?:Test|test_)\w+)\(`)
	files := regexp.MustCompile(`_test\.go$|^test_.*\.py$`)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // of a test beside this one
		}
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "bin") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !files.MatchString(name) {
			return nil
		}
		text, err := os.ReadFile(path) //nolint:gosec // below the repository
		for _, match := range declared.FindAllStringSubmatch(string(text), -1) {
			tests[match[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
