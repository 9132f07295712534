// Package debugger says where debuggers attach to the ranks of a run, and writes that down for editors.
package debugger

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/tensortap/tensortap/internal/steps"
)

// Host is where ranks listen: the loopback device alone, since debugpy asks nobody who he is.
const Host = "127.0.0.1"

// FirstPort is that of rank 0; that of another rank is as much higher.
const FirstPort = 5678

const (
	mostPorts = 1 << 16
	mostRanks = 1024
)

// Target is a rank that a debugger attaches to.
type Target struct {
	Rank int64
	Port int
}

// Address is where the rank listens.
func (t Target) Address() string { return net.JoinHostPort(Host, strconv.Itoa(t.Port)) }

// Targets are the ranks of a list as 0,3 with their ports.
func Targets(ranks string, first int) ([]Target, error) {
	spans, err := steps.Parse(ranks)
	if err != nil {
		return nil, err
	}
	last := spans.Last()
	switch {
	case last >= mostRanks || last < 0:
		return nil, fmt.Errorf("each rank waits for its own debugger: name them, as 0,3, up to %d", mostRanks-1)
	case first < 1 || int64(first)+last >= mostPorts:
		return nil, fmt.Errorf("rank %d would listen at port %d: want ports from 1 to %d", last, int64(first)+last, mostPorts-1)
	}
	var targets []Target
	for rank := range last + 1 {
		if spans.Contains(rank) {
			targets = append(targets, Target{Rank: rank, Port: first + int(rank)})
		}
	}
	return targets, nil
}

// CheckFree is an error that names the first port that is taken.
func CheckFree(targets []Target) error {
	for _, target := range targets {
		listener, err := net.Listen("tcp", target.Address()) //nolint:noctx // of this machine, at once
		if err != nil {
			return fmt.Errorf("rank %d is to listen for a debugger at %s, which is taken: end what listens there, or give another --debug-port, to which the rank is added: %w", target.Rank, target.Address(), err)
		}
		if err := listener.Close(); err != nil {
			return err
		}
	}
	return nil
}

// configuration is one of VS Code's.
type configuration struct {
	Name         string              `json:"name"`
	Type         string              `json:"type"`
	Request      string              `json:"request"`
	Connect      map[string]any      `json:"connect"`
	JustMyCode   bool                `json:"justMyCode"`
	PathMappings []map[string]string `json:"pathMappings"`
}

// compound starts several at once.
type compound struct {
	Name           string   `json:"name"`
	Configurations []string `json:"configurations"`
	StopAll        bool     `json:"stopAll"`
}

// WriteLaunch writes the launch.json of VS Code, with a configuration for each rank and a compound of all, below the
// folder, and returns its path. Sources are those that the program reads.
func WriteLaunch(folder string, targets []Target) (string, error) {
	all := compound{Name: "all ranks", Configurations: []string{}}
	configurations := []configuration{}
	for _, target := range targets {
		c := configuration{
			Name: fmt.Sprintf("rank %d", target.Rank), Type: "debugpy", Request: "attach",
			Connect:      map[string]any{"host": Host, "port": target.Port},
			PathMappings: []map[string]string{},
		}
		configurations = append(configurations, c)
		all.Configurations = append(all.Configurations, c.Name)
	}
	text, err := json.MarshalIndent(map[string]any{"version": "0.2.0", "configurations": configurations, "compounds": []compound{all}}, "", "  ")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, ".vscode", "launch.json")
	err = os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o600)
	}
	if err != nil {
		return "", errors.Join(errors.New("write launch.json for the debugger"), err)
	}
	return path, nil
}
