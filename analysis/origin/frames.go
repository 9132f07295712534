package origin

import "regexp"

// Frames separates the user's own code in a call stack from other code: installed packages, Python's own library, and
// a source tree of torch by its known folders and files.
type Frames struct{ ofOthers *regexp.Regexp }

// NewFrames compiles the pattern, so make one for many stacks.
func NewFrames() *Frames {
	return &Frames{regexp.MustCompile(`site-packages|dist-packages|/lib/python[0-9.]+/|File <(frozen |string>)` +
		`|/torch/(_|nn/|autograd/|utils/|distributed/|multiprocessing/|optim/|amp/|cuda/|fx/|jit/|func/|ao/|functional[.]py|overrides[.]py)`)}
}

// User is the innermost frame of the user's own code; empty where there is none.
func (f *Frames) User(frames []string) string {
	for _, frame := range frames {
		if !f.ofOthers.MatchString(frame) {
			return frame
		}
	}
	return ""
}
