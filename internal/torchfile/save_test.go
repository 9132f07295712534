package torchfile_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/internal/torchfile"
)

// TestWhatIsSavedIsReadAgain holds for each file of tensors that the tests have.
func TestWhatIsSavedIsReadAgain(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	saved := 0
	for _, path := range files {
		tensor, err := open(t, path)
		if err != nil {
			continue // one that is none, on purpose
		}
		again := savedAgain(t, tensor)
		if again.Dtype != tensor.Dtype || !slices.Equal(again.Shape, tensor.Shape) || !bytes.Equal(elementsOf(t, again), elementsOf(t, tensor)) {
			t.Errorf("%s: %v of %v became %v of %v", path, tensor.Shape, tensor.Dtype, again.Shape, again.Dtype)
		}
		saved++
	}
	if saved < 10 {
		t.Errorf("%d files of tensors were saved again, want more", saved)
	}
}

func savedAgain(t *testing.T, tensor *torchfile.Tensor) *torchfile.Tensor {
	t.Helper()
	var buffer bytes.Buffer
	if err := torchfile.Save(&buffer, tensor, "one"); err != nil {
		t.Fatal(err)
	}
	again, err := torchfile.Open(bytes.NewReader(buffer.Bytes()), int64(buffer.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func elementsOf(t *testing.T, tensor *torchfile.Tensor) []byte {
	t.Helper()
	elements, err := tensor.Elements()
	if err != nil {
		t.Fatal(err)
	}
	var all []byte
	buffer := make([]byte, 160)
	for {
		n, err := elements.Read(buffer)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, buffer[:n*tensor.Dtype.Size()]...)
	}
}

// TestTorchReadsWhatIsSaved has torch read the files of each dtype, and what is made of them.
func TestTorchReadsWhatIsSaved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := filepath.Glob("testdata/dtype_*.pt")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, path := range files {
		saveAgain(t, path, filepath.Join(dir, filepath.Base(path)))
	}
	const read = `
import pathlib, sys, torch
for path in pathlib.Path(sys.argv[1]).glob("dtype_*.pt"):
    was, now = torch.load(path), torch.load(pathlib.Path(sys.argv[2]) / path.name)
    assert was.dtype == now.dtype and was.shape == now.shape, path
    assert torch.equal(was.contiguous().view(-1).view(torch.uint8), now.view(-1).view(torch.uint8)), path
`
	cmd := exec.CommandContext(t.Context(), python(t), "-c", read, "testdata", dir) //nolint:gosec // a test's own
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

func python(t *testing.T) string {
	t.Helper()
	path := cmp.Or(os.Getenv("TENSORTAP_TORCH"), "../../.tools/torch/bin/python")
	if _, err := os.Stat(path); err != nil {
		testbed.Needed(t, "no Python with torch: make venv-torch, or set TENSORTAP_TORCH")
	}
	return path
}

func saveAgain(t *testing.T, from, to string) {
	t.Helper()
	tensor, err := open(t, from)
	if err != nil {
		t.Fatalf("%s: %v", from, err)
	}
	var buffer bytes.Buffer
	err = errors.Join(torchfile.Save(&buffer, tensor, "one"), os.WriteFile(to, buffer.Bytes(), 0o600))
	if err != nil {
		t.Fatal(err)
	}
}
