package torchfile_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/torchfile"
)

// Parts of pickles.
const (
	proto      = "\x80\x02"
	rebuild    = "ctorch._utils\n_rebuild_tensor_v2\n"
	float      = "ctorch\nFloatStorage\n"
	reference  = "(X\x07\x00\x00\x00storage" + float + "X\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
	hooks      = "\x89ccollections\nOrderedDict\n)R"
	persistent = "tQ"
)

// pickled is the pickle of a tensor of floats with those numbers, each an operation.
func pickled(count, offset, shape, stride string) string {
	return proto + rebuild + "(" + reference + count + persistent + offset + shape + stride + hooks + "tR."
}

func int4(n int32) string {
	return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

func int8s(n int64) string {
	return "\x8a\x08" + string(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

// stored packs members, name and content in turn, as torch.save does.
func stored(tb testing.TB, method uint16, members ...string) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		to, err := w.CreateHeader(&zip.FileHeader{Name: members[i], Method: method})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := io.WriteString(to, members[i+1]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func sixteen(pickle string) []string {
	return []string{"a/data.pkl", pickle, "a/data/0", strings.Repeat("\x01", 16)}
}

func TestHostileFilesAreRefused(t *testing.T) {
	t.Parallel()
	good := pickled("K\x04", "K\x00", "K\x04\x85", "K\x01\x85")
	cases := map[string]struct {
		text   []byte
		reason string
	}{
		"code":               {stored(t, zip.Store, sixteen("\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.")...), `asks for "system" of "os"`},
		"code by name":       {stored(t, zip.Store, sixteen("\x80\x04\x8c\x08builtins\x8c\x04eval\x93.")...), `asks for "eval" of "builtins"`},
		"object":             {stored(t, zip.Store, sixteen("\x80\x02)\x81.")...), "operation 0x81"},
		"state":              {stored(t, zip.Store, sixteen(strings.TrimSuffix(good, ".")+"}b.")...), "operation 0x62"},
		"call of a storage":  {stored(t, zip.Store, sixteen(proto+float+")R.")...), "makes no tensor"},
		"text protocol":      {stored(t, zip.Store, sixteen("\x80\x00.")...), "protocol 0"},
		"nested reduce":      {stored(t, zip.Store, sixteen(proto+"ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._tensor\n_rebuild_from_type_v2\nctorch\nTensor\n)tR.")...), "class that is not read"},
		"offset":             {stored(t, zip.Store, sixteen(pickled("K\x04", "K\x01", "K\x04\x85", "K\x01\x85"))...), "last element would be number 4"},
		"negative offset":    {stored(t, zip.Store, sixteen(pickled("K\x04", int4(-1), "K\x04\x85", "K\x01\x85"))...), "negative offset"},
		"stride":             {stored(t, zip.Store, sixteen(pickled("K\x04", "K\x00", "K\x02\x85", "K\x04\x85"))...), "last element would be number 4"},
		"negative stride":    {stored(t, zip.Store, sixteen(pickled("K\x04", "K\x03", "K\x02\x85", int4(-1)+"\x85"))...), "negative size or stride"},
		"overflow":           {stored(t, zip.Store, sixteen(pickled("K\x04", "K\x00", int8s(1<<40)+int8s(1<<40)+"\x86", "K\x00K\x00\x86"))...), "more than 1125899906842624 elements"},
		"overflowing stride": {stored(t, zip.Store, sixteen(pickled("K\x04", "K\x00", "K\x03K\x03\x86", int8s(1<<49)+int8s(1<<49)+"\x86"))...), "more than 1125899906842624 elements"},
		"wrapped offset":     {stored(t, zip.Store, sixteen(pickled("K\x04", int8s(1<<62), "K\x03\x85", int8s(1<<50)+"\x85"))...), "elements"},
		"repeated":           {stored(t, zip.Store, sixteen(pickled("K\x04", "K\x00", int8s(1<<40)+"\x85", "K\x00\x85"))...), "limit of those that repeat"},
		"dimensions":         {stored(t, zip.Store, sixteen(pickled("K\x04", "K\x00", "("+strings.Repeat("K\x01", 65)+"t", "("+strings.Repeat("K\x01", 65)+"t"))...), "65 dimensions"},
		"other dimensions":   {stored(t, zip.Store, sixteen(pickled("K\x04", "K\x00", "K\x04\x85", ")"))...), "1 dimensions and 0 strides"},
		"larger storage":     {stored(t, zip.Store, sixteen(pickled("K\x05", "K\x00", "K\x04\x85", "K\x01\x85"))...), "has 16 bytes, and data.pkl says 20"},
		"smaller storage":    {stored(t, zip.Store, sixteen(pickled("K\x03", "K\x00", "K\x03\x85", "K\x01\x85"))...), "has 16 bytes, and data.pkl says 12"},
		"long count":         {stored(t, zip.Store, sixteen(pickled(int8s(1<<62), "K\x00", "K\x03\x85", "K\x01\x85"))...), "not to a storage"},
		"huge text":          {stored(t, zip.Store, sixteen("\x80\x02X\xff\xff\xff\xff.")...), "more than 1048576 bytes"},
		"huge pickle":        {stored(t, zip.Store, sixteen(proto+strings.Repeat("N", 1<<20)+".")...), "limit 1048576"},
		"unset memo":         {stored(t, zip.Store, sixteen("\x80\x02h\x05.")...), "nothing is remembered as 5"},
		"empty stack":        {stored(t, zip.Store, sixteen("\x80\x02.")...), "nothing is on the stack"},
		"below the mark":     {stored(t, zip.Store, sixteen("\x80\x02K\x01(\x85.")...), "nothing is on the stack"},
		"no mark":            {stored(t, zip.Store, sixteen("\x80\x02t.")...), "no mark is set"},
		"no name":            {stored(t, zip.Store, sixteen("\x80\x02c"+strings.Repeat("a", 600))...), "more than 512 bytes"},
		"no end":             {stored(t, zip.Store, sixteen("\x80\x02K\x01")...), "in the middle"},
		"compressed":         {stored(t, zip.Deflate, sixteen(good)...), "compressed or encrypted (method 8)"},
		"no storage":         {stored(t, zip.Store, "a/data.pkl", good), `no member "a/data/0"`},
		"storage elsewhere":  {stored(t, zip.Store, "a/data.pkl", good, "../data/0", "0123456789abcdef"), `no member "a/data/0"`},
		"two pickles":        {stored(t, zip.Store, "a/data.pkl", good, "b/data.pkl", good, "a/data/0", "0123456789abcdef"), "2 members FOLDER/data.pkl"},
		"same names":         {stored(t, zip.Store, append(sixteen(good), sixteen(good)...)...), "two members are named"},
		"big-endian":         {stored(t, zip.Store, append(sixteen(good), "a/byteorder", "big")...), `"big" byte order`},
		"other archive":      {stored(t, zip.Store, "a/b", "c"), "0 members FOLDER/data.pkl"},
		"number of numpy":    {[]byte("\x93NUMPY\x01\x00\x76\x00{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }"), "header"},
		"header of numpy":    {[]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{'descr'"), "limit 1048576"},
		"empty":              {nil, "neither"},
		"other legacy":       {[]byte("\x80\x02K\x01.\x80\x02K\x01.\x80\x02}."), "none of torch.save"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tensor, err := torchfile.Open(bytes.NewReader(c.text), int64(len(c.text)))
			if err == nil || !strings.Contains(err.Error(), c.reason) {
				t.Fatalf("Open = %v, %v, want an error with %q", tensor, err, c.reason)
			}
		})
	}
	if _, err := torchfile.Open(bytes.NewReader(stored(t, zip.Store, sixteen(good)...)), int64(len(stored(t, zip.Store, sixteen(good)...)))); err != nil {
		t.Fatalf("the pickle that all of these change is refused itself: %v", err)
	}
}

// patched changes bytes of an archive behind the last place where a text stands.
func patched(text []byte, behind string, offset int, with string) []byte {
	changed := bytes.Clone(text)
	copy(changed[bytes.LastIndex(changed, []byte(behind))+offset:], with)
	return changed
}

func TestLyingDirectoriesAreRefused(t *testing.T) {
	t.Parallel()
	good := stored(t, zip.Store, sixteen(pickled("K\x04", "K\x00", "K\x04\x85", "K\x01\x85"))...)
	const entry, end = "PK\x01\x02", "PK\x05\x06"
	for name, text := range map[string][]byte{
		"count of members":    patched(good, end, 10, "\xff\xff"),
		"size of directory":   patched(good, end, 12, "\xff\xff\xff\x7f"),
		"place of directory":  patched(good, end, 16, "\xff\xff\xff\x7f"),
		"size of member":      patched(good, entry, 20, "\xff\xff\xff\x7f\xff\xff\xff\x7f"),
		"overlapping members": patched(good, entry, 42, "\x00\x00\x00\x00"),
		"place of member":     patched(good, entry, 42, "\x00\x00\x00\x7f"),
		"encrypted":           patched(good, entry, 8, "\x01"),
		"length of name":      patched(good, entry, 28, "\xff\xff"),
	} {
		if tensor, err := torchfile.Open(bytes.NewReader(text), int64(len(text))); err == nil {
			t.Errorf("%s: read as %v", name, tensor)
		}
	}
}

func TestHostilePicklesTakeLittle(t *testing.T) { //nolint:paralleltest // it measures memory
	laughs := proto + ")q\x00" + strings.Repeat("h\x00h\x00h\x00\x87q\x00", 1<<16) + "."
	marks := proto + strings.Repeat("(", 1<<19) + strings.Repeat("t", 1<<19) + "."
	for name, pickle := range map[string]string{"laughs": laughs, "marks": marks} {
		text := stored(t, zip.Store, sixteen(pickle)...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := torchfile.Open(bytes.NewReader(text), int64(len(text)))
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; err == nil || taken > 128<<20 {
			t.Errorf("%s: %v after %d MiB, want an error within 128 MiB", name, err, taken>>20)
		}
	}
}
