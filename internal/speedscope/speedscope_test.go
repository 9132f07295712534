package speedscope_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/speedscope"
)

// saved is a file as py-spy writes it.
const saved = `{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":[{"type":"sampled","name":"thread (0x7F): MainThread","unit":"seconds",` +
	`"startValue":0.0,"endValue":0.5,"samples":[[0,1],[0],[0,1]],"weights":[0.1,0.2,0.2]}],"shared":{"frames":[{"name":"main","file":"a.py","line":3,"col":null},` +
	`{"name":"spin; x","file":null,"line":null,"col":null}]},"activeProfileIndex":null,"exporter":"py-spy@0.4.1","name":"py-spy profile"}`

func TestFilesOfSeveralProcessesBecomeOne(t *testing.T) {
	t.Parallel()
	one, err := speedscope.Parse([]byte(saved))
	if err != nil {
		t.Fatal(err)
	}
	all := &speedscope.File{Schema: speedscope.Schema}
	all.Add(one, "rank 0: ")
	one.Shared.Frames = []speedscope.Frame{{Name: "other"}, {Name: "main", File: "a.py", Line: 3}}
	all.Add(one, "rank 1: ")
	var text bytes.Buffer
	if err := all.Write(&text); err != nil {
		t.Fatal(err)
	}
	again, err := speedscope.Parse(text.Bytes())
	if err != nil || len(again.Shared.Frames) != 3 || len(again.Profiles) != 2 {
		t.Fatalf("%s, %v", text.String(), err)
	}
	text.Reset()
	if err := again.WriteFolded(&text); err != nil {
		t.Fatal(err)
	}
	want := `rank 0: thread (0x7F): MainThread;main (a.py:3) 200
rank 0: thread (0x7F): MainThread;main (a.py:3);spin: x 300
rank 1: thread (0x7F): MainThread;other 200
rank 1: thread (0x7F): MainThread;other;main (a.py:3) 300
`
	if text.String() != want {
		t.Errorf("got\n%swant\n%s", text.String(), want)
	}
}

func TestWhatIsNoFileOfStacksIsRefused(t *testing.T) {
	t.Parallel()
	for from, to := range map[string]string{
		"file-format-schema": "another", `[0,1],[0]`: `[0,7],[0]`, `"weights":[0.1,`: `"weights":[`, `"sampled"`: `"evented"`, `"exporter"`: `"unknown"`, "{": "[",
	} {
		if f, err := speedscope.Parse([]byte(strings.Replace(saved, from, to, 1))); err == nil {
			t.Errorf("%s for %s is read: %+v", to, from, f)
		}
	}
}
