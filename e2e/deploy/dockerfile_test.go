package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheImageIsPinnedAndSmall reads what the image would be: no container runs here.
func TestTheImageIsPinnedAndSmall(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "deploy", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	stages, pinned := map[string]string{}, versions(t)
	for _, from := range regexp.MustCompile(`(?m)^FROM (?:--platform=\S+ )?(\S+) AS (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		base, stage := from[1], from[2]
		stages[stage] = base
		if _, own := stages[base]; own {
			continue
		}
		for _, variable := range regexp.MustCompile(`\$\{(\w+)\}`).FindAllStringSubmatch(base, -1) {
			if pinned[variable[1]] == "" || !strings.Contains(string(text), "\nARG "+variable[1]+"\n") {
				t.Errorf("%s of %s is not pinned", variable[1], base)
			}
		}
		if !strings.Contains(base, "${") {
			t.Errorf("%s has no pinned version", base)
		}
	}
	for stage, want := range map[string]string{"tensortap": "distroless", "demo": "tensortap", "build": "golang"} {
		if !strings.Contains(stages[stage], want) {
			t.Errorf("stage %s is built on %q, want %s", stage, stages[stage], want)
		}
	}
	_, last, _ := strings.Cut(string(text), " AS tensortap\n")
	if !strings.Contains(last, "\nUSER 65532:65532\n") || strings.Contains(last, "USER root") || strings.Contains(last, "\nRUN ") {
		t.Error("the image does not run as nobody's user, or runs programs while it is built on a base without any")
	}
}

// TestTheBuildSeesWhatItNeeds holds .dockerignore against the folders that Go reads.
func TestTheBuildSeesWhatItNeeds(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		sources, err := filepath.Glob(filepath.Join(root, entry.Name(), "*"))
		needed := err == nil && entry.IsDir() && len(sources) > 0 && !strings.HasPrefix(entry.Name(), ".") &&
			entry.Name() != "bin" && entry.Name() != "docs" && entry.Name() != "e2e" && entry.Name() != "deploy" && entry.Name() != "data"
		if needed != strings.Contains(string(text), "\n!"+entry.Name()+"\n") && entry.IsDir() {
			t.Errorf("folder %s is needed by the build: %v, .dockerignore says otherwise", entry.Name(), needed)
		}
	}
}
