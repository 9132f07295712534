package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// msprobeStoredSeconds is what msProbe's graph comparison took for a pair of 30,400 ops on a machine of two cores; it
// serves where msProbe is not installed.
const msprobeStoredSeconds = 36.6

// msprobeGraph times msProbe's own graph comparison of the same files where TENSORTAP_MSPROBE names its executable (`make
// msprobe` installs one), else it returns the stored figure. It also says which of the two it is.
func (e *env) msprobeGraph(ctx context.Context, problem, bench string) (wall float64, from string, err error) {
	executable := os.Getenv("TENSORTAP_MSPROBE")
	if executable == "" {
		return msprobeStoredSeconds, "stored figure", nil
	}
	command := exec.CommandContext(ctx, executable, "graph_visualize", //nolint:gosec // named by who runs the benchmark
		"-tp", filepath.Join(problem, "step0"), "-gp", filepath.Join(bench, "step0"), "-o", filepath.Join(e.folder, "graph"))
	wall, err = elapsed(func() error {
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("run msProbe's graph comparison: %w: %s", err, output)
		}
		return nil
	})
	e.say("msProbe %.1f s", wall)
	return wall, "measured in this run", err
}
