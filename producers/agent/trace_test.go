package agent_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

func TestATraceIsThereOnceItsFileIs(t *testing.T) {
	t.Parallel()
	root, data := t.TempDir(), t.TempDir()
	kept := filepath.Join(data, "traces", schemas.FormatID(schemas.RunID("live")))
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "live", Rank: 3, Epoch: 7})
	cfg := config(t, root, newLog(t))
	cfg.Payloads = filepath.Join(data, "payloads")
	a := serving(t, cfg)
	request := agent.Request{RunID: schemas.RunID("live"), Sequence: 11, Do: agent.DoTrace, Seconds: 0.5, Rate: 100, Content: true}
	asked(t, a, request, agent.StatePending)
	var seen map[string]any
	if _, text := s.Asked(); json.Unmarshal([]byte(text), &seen) != nil || len(seen) != 4 || seen["folder"] != kept || seen["seconds"] != 0.5 || seen["rate"] != 100.0 {
		t.Errorf("the process is asked %v", seen)
	}
	answer(t, s, schemas.SpoolAnswered{Sequence: 11, Outcome: schemas.SpoolTracing, Step: 4}, "")
	got := asked(t, a, request, agent.StateTracing)
	if filepath.Dir(filepath.Dir(got.File)) != kept || filepath.Base(got.File) != "trace-11.json" || got.FromStep != 4 || got.Content != nil {
		t.Fatalf("answer %+v", got)
	}
	if err := os.MkdirAll(filepath.Dir(got.File), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(got.File, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	got = asked(t, a, request, agent.StateTraced)
	unpack, err := gzip.NewReader(bytes.NewReader(got.Content))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(unpack); err != nil || string(text) != "{}" {
		t.Errorf("%s, %v", text, err)
	}
	profile := agent.Request{RunID: request.RunID, Sequence: 12, Do: agent.DoProfile, Steps: 2}
	asked(t, a, profile, agent.StatePending)
	if _, text := s.Asked(); text != `{"do":"profile","folder":"`+kept+`","steps":2}` {
		t.Errorf("the process is asked %s", text)
	}
	answer(t, s, schemas.SpoolAnswered{Sequence: 12, Outcome: schemas.SpoolTracing, Step: 5}, "")
	asked(t, a, profile, agent.StateTracing)
}

func TestAFileThatNoAnswerTakesIsNamedAlone(t *testing.T) {
	t.Parallel()
	root, data := t.TempDir(), t.TempDir()
	s := testbed.NewSpool(t, root, testbed.SpoolOptions{Run: "live", Rank: 3, Epoch: 7})
	cfg := config(t, root, newLog(t))
	cfg.Payloads = filepath.Join(data, "payloads")
	a := serving(t, cfg)
	request := agent.Request{RunID: schemas.RunID("live"), Sequence: 11, Do: agent.DoTrace, Seconds: 0.5, Rate: 100, Content: true}
	asked(t, a, request, agent.StatePending)
	answer(t, s, schemas.SpoolAnswered{Sequence: 11, Outcome: schemas.SpoolTracing, Step: 4}, "")
	path := asked(t, a, request, agent.StateTracing).File
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 5<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	if err := os.WriteFile(path, noise, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := asked(t, a, request, agent.StateTraced); got.Content != nil || got.File != path {
		t.Errorf("%d bytes of %s are sent", len(got.Content), got.File)
	}
}
