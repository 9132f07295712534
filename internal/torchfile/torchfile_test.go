package torchfile_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/torchfile"
)

// want is a line of want.tsv, which torch wrote beside the files.
type want struct{ file, dtype, shape, bytes string }

func wanted(tb testing.TB) []want {
	tb.Helper()
	text, err := os.ReadFile("testdata/want.tsv")
	if err != nil {
		tb.Fatal(err)
	}
	var all []want
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, want{fields[0], fields[1], fields[2], fields[3]})
	}
	return all
}

func open(tb testing.TB, path string) (*torchfile.Tensor, error) {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return torchfile.Open(bytes.NewReader(text), int64(len(text)))
}

// all reads every element, three at a time.
func all(t *torchfile.Tensor) ([]byte, error) {
	elements, err := t.Elements()
	if err != nil {
		return nil, err
	}
	var read []byte
	buffer := make([]byte, 3*t.Dtype.Size()+1)
	for {
		n, err := elements.Read(buffer)
		if errors.Is(err, io.EOF) {
			return read, nil
		}
		if err != nil {
			return nil, err
		}
		read = append(read, buffer[:n*t.Dtype.Size()]...)
	}
}

func shapeText(shape []int64) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = strconv.FormatInt(n, 10)
	}
	return strings.Join(parts, ",")
}

func TestEveryFileOfTorchHoldsWhatTorchSays(t *testing.T) {
	t.Parallel()
	cases := wanted(t)
	if len(cases) < 40 {
		t.Fatalf("want.tsv has %d lines, want 40 or more", len(cases))
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			tensor, err := open(t, filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			if tensor.Dtype.String() != c.dtype || shapeText(tensor.Shape) != c.shape {
				t.Fatalf("%s is %s [%s], want %s [%s]", c.file, tensor.Dtype, shapeText(tensor.Shape), c.dtype, c.shape)
			}
			got, err := all(tensor)
			if err != nil || hex.EncodeToString(got) != c.bytes {
				t.Fatalf("elements of %s = %x, %v, want %s", c.file, got, err, c.bytes)
			}
		})
	}
}

func TestOtherObjectsAreRefused(t *testing.T) {
	t.Parallel()
	for file, reason := range map[string]string{
		"refused_dict.pt":         "it holds a dict, not a tensor",
		"refused_pair.pt":         "it holds a tuple, not a tensor",
		"refused_number.pt":       "it holds a number, not a tensor",
		"refused_ordered.pt":      "it holds a dict, not a tensor",
		"refused_conjugate.pt":    "conjugate",
		"refused_sparse.pt":       `asks for "_rebuild_sparse_tensor" of "torch._utils"`,
		"refused_module.pt":       `asks for "Linear" of "torch.nn.modules.linear"`,
		"refused_quantized.pt":    `asks for "_rebuild_qtensor" of "torch._utils"`,
		"refused_object.npy":      `elements of type "|O"`,
		"refused_big_endian.npy":  `elements of type ">f4"`,
		"refused_two.safetensors": "2 tensors, want 1",
		"want.tsv":                "neither a file of torch.save nor of numpy.save",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			tensor, err := open(t, filepath.Join("testdata", file))
			if err == nil || !strings.Contains(err.Error(), reason) {
				t.Fatalf("Open(%s) = %v, %v, want an error with %q", file, tensor, err, reason)
			}
		})
	}
}

func TestEveryCutIsRefused(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"dtype_float32.pt", "legacy_float32.pt", "numpy_c_order.npy", "st_float32.safetensors"} {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		for length := range text {
			// A comment could follow the end of an archive, and nothing else could.
			if tensor, err := torchfile.Open(bytes.NewReader(text[:length]), int64(length)); err == nil {
				t.Fatalf("the first %d of %d bytes of %s are read as %v", length, len(text), file, tensor)
			}
		}
	}
}

// FuzzOpen looks for files that end the process, or take memory that they do not have.
func FuzzOpen(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		tensor, err := torchfile.Open(bytes.NewReader(text), int64(len(text)))
		if err != nil || tensor.Count > 1<<16 {
			return
		}
		if got, err := all(tensor); err == nil && int64(len(got)) != tensor.Count*tensor.Dtype.Size() {
			t.Fatalf("%d bytes of %d elements", len(got), tensor.Count)
		}
	})
}
