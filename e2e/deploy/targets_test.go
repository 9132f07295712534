package deploy

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPrometheusAsksEachRole holds the targets of the compose file against its roles.
func TestPrometheusAsksEachRole(t *testing.T) {
	t.Parallel()
	targets := string(read(t, filepath.Join(root, "deploy", "compose", "targets.yml")))
	for name, s := range load(t, nil, "docker-compose.yml").Services {
		listens := s.Environment["TENSORTAP_METRICS"]
		if listens == nil || len(s.Profiles) > 0 {
			continue
		}
		_, port, _ := strings.Cut(*listens, ":")
		if !strings.Contains(targets, `"`+name+":"+port+`"`) {
			t.Errorf("deploy/compose/targets.yml lacks %s:%s", name, port)
		}
		if _, ok := s.Networks["watch"]; !ok {
			t.Errorf("%s is not in the network of Prometheus", name)
		}
	}
}
