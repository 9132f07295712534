package deploy

import (
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/tensortap/tensortap/e2e/internal/program"
)

// ranksOfDemo is what the image of the demo has beside the program, built as deploy/Dockerfile builds it.
var ranksOfDemo = sync.OnceValues(func() (string, error) { //nolint:gochecknoglobals // built once a process
	path, err := filepath.Abs(filepath.Join(root, "bin", "e2e", "demo"))
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "./internal/dev/demo") //nolint:gosec // outlives the test that needs it first
	cmd.Dir = root
	said, err := cmd.CombinedOutput()
	if err != nil {
		return string(said), err
	}
	return path, nil
})

// enter has the command be of the program that the service's entrypoint names, if it names one.
func (f *fleet) enter(s *types.ServiceConfig, cmd *exec.Cmd) {
	f.tb.Helper()
	if len(s.Entrypoint) == 0 {
		return
	}
	if !slices.Equal(s.Entrypoint, types.ShellCommand{"/usr/local/bin/demo"}) {
		f.tb.Fatalf("the image of %s has no program %v", s.Name, s.Entrypoint)
	}
	path, err := ranksOfDemo()
	if err != nil {
		f.tb.Fatalf("build the ranks of the demo: %v\n%s", err, path)
	}
	cmd.Path, cmd.Args[0] = path, path
}

// startDemo runs the services of the profile, in the order in which they depend on each other. Some of them go on.
func (f *fleet) startDemo(t *testing.T) {
	t.Helper()
	started := map[string]bool{}
	for again := true; again; {
		again = false
		for name, s := range f.project.Services {
			if !slices.Contains(s.Profiles, "demo") || started[name] || !f.ready(&s, started) {
				continue
			}
			started[name], again = true, true
			if s.Restart == types.RestartPolicyOnFailure {
				f.run(name)
				continue
			}
			up := f.begin(f.command(&s))
			t.Cleanup(func() { f.stop(t, name, up) })
		}
	}
	for name, s := range f.project.Services {
		if slices.Contains(s.Profiles, "demo") && !started[name] {
			t.Errorf("%s depends on what never starts", name)
		}
	}
}

// ready says whether all services of the demo that this one waits for have ended, or have started where they go on.
func (f *fleet) ready(s *types.ServiceConfig, started map[string]bool) bool {
	f.tb.Helper()
	for name, how := range s.DependsOn {
		other := f.service(name)
		ends := other.Restart == types.RestartPolicyOnFailure
		if slices.Contains(other.Profiles, "demo") && (!started[name] || ends != (how.Condition == types.ServiceConditionCompletedSuccessfully)) {
			return false
		}
	}
	return true
}

func (f *fleet) stop(t *testing.T, name string, up *program.Up) {
	t.Helper()
	if err := up.Stop(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}
