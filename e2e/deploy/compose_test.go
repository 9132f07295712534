package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

var root = filepath.Join("..", "..") //nolint:gochecknoglobals // the repository

// load reads compose files as docker compose does.
func load(tb testing.TB, environment []string, files ...string) *types.Project {
	tb.Helper()
	for i := range files {
		files[i] = filepath.Join(root, files[i])
	}
	options, err := cli.NewProjectOptions(files, cli.WithEnv(environment), cli.WithProfiles([]string{"demo"}), cli.WithResolvedPaths(true))
	if err != nil {
		tb.Fatal(err)
	}
	project, err := options.LoadProject(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return project
}

func versions(tb testing.TB) map[string]string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy", "versions.env"))
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "="); found && !strings.HasPrefix(line, "#") {
			all[name] = value
		}
	}
	return all
}

func TestTheComposeFileStartsEveryPart(t *testing.T) {
	t.Parallel()
	project := load(t, nil, "docker-compose.yml")
	for _, name := range []string{"nats", "clickhouse", "consume", "judge", "alert", "serve", "grafana", "prometheus", "alertmanager", "demo-good", "demo-bad"} {
		if _, err := project.GetService(name); err != nil {
			t.Error(err)
		}
	}
	for name, service := range project.Services {
		inDemo := slices.Contains(service.Profiles, "demo")
		if strings.HasPrefix(name, "demo-") != inDemo {
			t.Errorf("%s is in profiles %v", name, service.Profiles)
		}
	}
}

// TestNoServiceHasMoreRightsThanItNeeds names each exception with its reason.
func TestNoServiceHasMoreRightsThanItNeeds(t *testing.T) {
	t.Parallel()
	for name, s := range load(t, nil, "docker-compose.yml").Services {
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.Privileged {
			t.Errorf("%s: read only %v, drops %v, %v", name, s.ReadOnly, s.CapDrop, s.SecurityOpt)
		}
		if name == "stream-owner" { // gives a folder to another user, has no network, and ends
			if !slices.Equal(s.CapAdd, []string{"CHOWN"}) || s.NetworkMode != "none" {
				t.Errorf("%s: %v, network %q", name, s.CapAdd, s.NetworkMode)
			}
		} else if len(s.CapAdd) > 0 || strings.HasPrefix(s.User, "0") {
			t.Errorf("%s runs as %q with %v", name, s.User, s.CapAdd)
		}
		if s.Build == nil && s.User == "" {
			t.Errorf("%s runs as whoever its image says", name)
		}
		if s.Deploy == nil || s.Deploy.Resources.Limits == nil || s.Deploy.Resources.Limits.MemoryBytes == 0 || s.Deploy.Resources.Limits.NanoCPUs == 0 || s.Deploy.Resources.Limits.Pids == 0 {
			t.Errorf("%s may take all of the machine", name)
		}
		if len(s.Logging.Options) == 0 {
			t.Errorf("the logs of %s grow without bound", name)
		}
	}
}

// TestNothingListensForEverybodyWithoutAPassword has published ports on loopback unless someone says otherwise, and none of those
// servers that know no passwords.
func TestNothingListensForEverybodyWithoutAPassword(t *testing.T) {
	t.Parallel()
	for name, s := range load(t, nil, "docker-compose.yml").Services {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s listens on %q:%s", name, port.HostIP, port.Published)
			}
			if name != "nats" && name != "grafana" && name != "serve" {
				t.Errorf("%s publishes a port", name)
			}
		}
	}
	project := load(t, []string{"TENSORTAP_BIND=10.0.0.1"}, "docker-compose.yml")
	if nats, _ := project.GetService("nats"); len(nats.Ports) != 1 || nats.Ports[0].HostIP != "10.0.0.1" {
		t.Errorf("TENSORTAP_BIND: %+v", nats.Ports)
	}
	for _, name := range []string{"stream", "store", "watch"} {
		if !project.Networks[name].Internal {
			t.Errorf("network %s leads out of the host", name)
		}
	}
}

// TestNoSecretStandsInTheFile looks for what a secret would look like, and that each is a file.
func TestNoSecretStandsInTheFile(t *testing.T) {
	t.Parallel()
	project := load(t, nil, "docker-compose.yml")
	for name, s := range project.Services {
		for variable, value := range s.Environment {
			if value != nil && regexp.MustCompile(`(?i)password|secret|token`).MatchString(variable) && !strings.HasPrefix(*value, "/run/secrets/") {
				t.Errorf("%s has %s in its environment", name, variable)
			}
			if value != nil && strings.Contains(*value, "@") && strings.Contains(*value, "://") {
				t.Errorf("%s has a password in %s", name, variable)
			}
		}
		for _, secret := range s.Secrets {
			if project.Secrets[secret.Source].File == "" {
				t.Errorf("secret %s of %s is no file", secret.Source, name)
			}
		}
	}
}

// TestEachVersionStandsOnce holds images against deploy/versions.env, and that against what the tests run.
func TestEachVersionStandsOnce(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "deploy", "compose.yml"))
	if err != nil {
		t.Fatal(err)
	}
	pinned := versions(t)
	for _, image := range regexp.MustCompile(`(?m)^\s*image: (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		name := regexp.MustCompile(`:\$\{(\w+):\?\}$`).FindStringSubmatch(image[1])
		if name == nil || pinned[name[1]] == "" || pinned[name[1]] == "latest" {
			t.Errorf("image %s has no version of deploy/versions.env", image[1])
		}
	}
	gomod := string(read(t, filepath.Join(root, "go.mod")))
	for _, want := range []string{
		"github.com/nats-io/nats-server/v2 v" + strings.TrimSuffix(pinned["NATS_VERSION"], "-alpine") + "\n", "\ngo " + pinned["GO_VERSION"] + ".",
	} {
		if !strings.Contains(gomod, want) {
			t.Errorf("deploy/versions.env does not go with go.mod: want %q there", want)
		}
	}
}

func TestEachFileThatIsMountedIsThere(t *testing.T) {
	t.Parallel()
	secrets := []string{"TENSORTAP_TLS=" + t.TempDir()}
	for _, v := range []string{"TENSORTAP_VERSION", "GO_VERSION", "NODE_VERSION", "DEBIAN_VERSION", "DISTROLESS_VERSION", "NATS_VERSION", "CLICKHOUSE_VERSION", "GRAFANA_VERSION", "GRAFANA_CLICKHOUSE_VERSION", "PROMETHEUS_VERSION", "ALERTMANAGER_VERSION"} {
		secrets = append(secrets, v+"="+versions(t)[v])
	}
	for _, project := range []*types.Project{load(t, nil, "docker-compose.yml"), load(t, secrets, "deploy/compose.yml", "deploy/tls.yml")} {
		for name, s := range project.Services {
			for _, volume := range s.Volumes {
				if volume.Type != types.VolumeTypeBind || strings.HasPrefix(volume.Source, os.TempDir()) {
					continue
				}
				if _, err := os.Stat(volume.Source); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if !volume.ReadOnly {
					t.Errorf("%s can write %s", name, volume.Source)
				}
			}
		}
	}
}
