package kernelcalls

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/tensortap/tensortap/internal/torchfile"
)

// savedInputs is the file beside a call's metadata that has the tensors themselves.
const savedInputs = "inputs.pt"

// describe takes dtypes, shapes and strides from the saved tensors, which SGLang's metadata do not tell. The pickle in
// their file is not run. Of a file that is missing, or half written as the process died, nothing is taken.
func (e *entry) describe(dir string) {
	if len(e.Details) > 0 {
		return
	}
	saved, _ := readSaved(filepath.Join(dir, savedInputs))
	e.Details = map[string]detail{}
	for _, item := range saved {
		name, _ := item.Key.(string)
		if t, isTensor := item.Value.(*torchfile.Tensor); isTensor {
			e.Details[name] = detail{Shape: numbersOf(t.Shape), Stride: numbersOf(t.Stride), Dtype: t.Dtype.String()}
		}
	}
}

func readSaved(path string) (torchfile.Dict, error) {
	// Without O_NONBLOCK, a named pipe would be waited for.
	input, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) //nolint:gosec // beside the file that the user named
	if err != nil {
		return nil, err
	}
	defer input.Close() //nolint:errcheck // only read
	info, err := input.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	value, err := torchfile.Read(input, info.Size())
	dict, _ := value.(torchfile.Dict)
	return dict, err
}

func numbersOf(list []int64) []json.Number {
	texts := make([]json.Number, len(list))
	for i, n := range list {
		texts[i] = json.Number(strconv.FormatInt(n, 10))
	}
	return texts
}
