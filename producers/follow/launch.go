package follow

import (
	"path/filepath"

	"github.com/tensortap/tensortap/internal/logs"
)

// Launch completes the configuration for the output of the processes of a launch.
func Launch(cfg Config, l logs.Launch) Config { //nolint:gocritic // copied to be completed
	cfg.State = StateOf(l)
	cfg.Files = func() ([]File, bool, error) {
		ended := l.Ended() // before the files are listed
		outputs, err := l.Outputs()
		files := make([]File, len(outputs))
		for i, o := range outputs {
			files[i] = File{ID: o.Name, Path: o.Path, Stream: "out", PID: int64(o.PID)}
			if o.Stderr {
				files[i].Stream = "err"
			}
		}
		return files, ended, err
	}
	return cfg
}

// StateOf is where it is noted what was published of a launch.
func StateOf(l logs.Launch) string { return filepath.Join(string(l), logs.StateName) }
