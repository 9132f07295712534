package torchfile_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/torchfile"
)

func read(text []byte) (any, error) { return torchfile.Read(bytes.NewReader(text), int64(len(text))) }

// text is a short text in a pickle.
func text(s string) string { return "X" + string([]byte{byte(len(s)), 0, 0, 0}) + s }

func TestWhatIsSavedAroundATensorIsRead(t *testing.T) {
	t.Parallel()
	tensor := strings.TrimSuffix(strings.TrimPrefix(pickled("K\x04", "K\x00", "K\x04\x85", "K\x01\x85"), proto), ".")
	meta := "}(" + text("name") + text("rids") + text("tags") + "](K\x05\x89NG\x3f\xe8\x00\x00\x00\x00\x00\x00ctorch\nbfloat16\ne" + "u"
	file := stored(t, zip.Store, sixteen(proto+"}("+text("value")+tensor+text("meta")+meta+"u.")...)
	value, err := read(file)
	dict, ok := value.(torchfile.Dict)
	if err != nil || !ok {
		t.Fatalf("Read = %v, %v", value, err)
	}
	if found, ok := dict.Get("value").(*torchfile.Tensor); !ok || found.Count != 4 || found.Dtype != torchfile.Float32 {
		t.Errorf("value %v, want 4 elements of float32", dict.Get("value"))
	}
	want := torchfile.Dict{
		{Key: "name", Value: "rids"},
		{Key: "tags", Value: torchfile.List{int64(5), false, nil, 0.75, torchfile.DtypeName("torch.bfloat16")}},
	}
	if got := dict.Get("meta"); !reflect.DeepEqual(got, any(want)) {
		t.Errorf("meta %v, want %v", got, want)
	}
	if tensor, err := torchfile.Open(bytes.NewReader(file), int64(len(file))); err != nil || tensor.Count != 4 {
		t.Errorf("Open = %v, %v, want the value of the dict", tensor, err)
	}
}

func TestHostileThingsAroundATensorAreRefused(t *testing.T) { //nolint:paralleltest // it measures memory
	wide := "](" + strings.Repeat("N", 1<<19) + "e"
	for name, c := range map[string]struct{ pickle, reason string }{
		"code":        {proto + "}" + text("meta") + "cos\nsystem\nX\x02\x00\x00\x00id\x85Rs.", `asks for "system" of "os"`},
		"class":       {proto + "}" + text("meta") + "ctorch\nTensor\ns.", "a class or function"},
		"in itself":   {proto + "]q\x00h\x00a.", "inside each other"},
		"laughs":      {proto + ")q\x00" + strings.Repeat("h\x00h\x00h\x00\x87q\x00", 1<<12) + ".", "inside each other"},
		"wide":        {proto + wide + ".", "more than 65536 values"},
		"wide inside": {proto + "]q\x01(h\x01" + strings.Repeat("N", 1<<19) + "e.", "more than 65536 values"},
	} {
		file := stored(t, zip.Store, sixteen(c.pickle)...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		value, err := read(file)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: Read = %v, %v, want an error with %q", name, value, err, c.reason)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 128<<20 {
			t.Errorf("%s: %d MiB for a file of %d KiB", name, taken>>20, len(file)>>10)
		}
	}
}

func FuzzRead(f *testing.F) {
	tensor := strings.TrimSuffix(strings.TrimPrefix(pickled("K\x04", "K\x00", "K\x04\x85", "K\x01\x85"), proto), ".")
	f.Add(proto + "}(" + text("value") + tensor + text("meta") + "}(" + text("dims") + "](K\x05\x89NG\x3f\xe8\x00\x00\x00\x00\x00\x00ctorch\nbfloat16\neuu.")
	f.Add(proto + "]q\x00(h\x00h\x00K\x01e.")
	f.Fuzz(func(t *testing.T, pickle string) {
		file := stored(t, zip.Store, sixteen(pickle)...)
		if value, err := read(file); err == nil {
			_ = fmt.Sprint(value) // ends: nothing in it holds itself
		}
	})
}
