package debugger_test

import (
	"encoding/json"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/debugger"
)

func TestEachRankHasAPortOfItsOwn(t *testing.T) {
	t.Parallel()
	targets, err := debugger.Targets("0,3", debugger.FirstPort)
	if err != nil || len(targets) != 2 || targets[0].Address() != "127.0.0.1:5678" || targets[1].Address() != "127.0.0.1:5681" {
		t.Errorf("%v, %v", targets, err)
	}
	for ranks, want := range map[string]string{"0-": "name them, as 0,3", "5000": "name them, as 0,3", "x": "want numbers and ranges", "9": "rank 9 would listen at port 65541"} {
		if _, err := debugger.Targets(ranks, 65532); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", ranks, err, want)
		}
	}
}

func TestAPortThatIsTakenIsNamed(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // of this machine, at once
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close() //nolint:errcheck // nobody listens
	port := taken.Addr().(*net.TCPAddr).Port
	err = debugger.CheckFree([]debugger.Target{{Rank: 3, Port: port}})
	if err == nil || !strings.Contains(err.Error(), "rank 3 is to listen for a debugger at "+taken.Addr().String()+", which is taken") {
		t.Error(err)
	}
}

func TestAnEditorIsGivenEachRankAndAllOfThem(t *testing.T) {
	t.Parallel()
	path, err := debugger.WriteLaunch(t.TempDir(), []debugger.Target{{Rank: 0, Port: 5678}, {Rank: 3, Port: 5681}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var launch struct {
		Configurations []struct {
			Name    string
			Connect struct {
				Host string
				Port int
			}
		}
		Compounds []struct{ Configurations []string }
	}
	if err := json.Unmarshal(text, &launch); err != nil {
		t.Fatal(err)
	}
	if c := launch.Configurations; len(c) != 2 || c[1].Name != "rank 3" || c[1].Connect.Port != 5681 || c[1].Connect.Host != debugger.Host {
		t.Errorf("%s", text)
	}
	if c := launch.Compounds; len(c) != 1 || strings.Join(c[0].Configurations, ",") != "rank 0,rank 3" {
		t.Errorf("%s", text)
	}
}
