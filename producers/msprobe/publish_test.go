package msprobe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/schemas"
)

func TestTheSameContentGivesTheSameMessagesAnywhere(t *testing.T) {
	t.Parallel()
	here, there := unpack(t, "D_tp_golden"), unpack(t, "D_tp_golden")
	rank := "D_tp_golden/dump/step0/rank1"
	later := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(filepath.Join(there, rank, dumpFile), later, later); err != nil {
		t.Fatal(err)
	}
	a, b := readAll(t, Dump{Dir: filepath.Join(here, rank)}, 100), readAll(t, Dump{Dir: filepath.Join(there, rank)}, 100)
	if len(a.messages) != len(b.messages) {
		t.Fatalf("%d and %d messages", len(a.messages), len(b.messages))
	}
	for i := range a.messages {
		if a.messages[i].ID() != b.messages[i].ID() || !bytes.Equal(a.messages[i].Data, b.messages[i].Data) {
			t.Errorf("message %d: %s and %s", i, a.messages[i].ID(), b.messages[i].ID())
		}
	}
	contiguous(t, a)
}

func TestTheDigestNamesTheContentOfEveryFile(t *testing.T) {
	t.Parallel()
	dump := dumpOf(t, fmt.Sprintf(indented, `{}`))
	seen := make(map[uint64]string)
	digest := func(what string) {
		source, err := Open(dump, DefaultOptions("a run"))
		if err != nil {
			t.Fatal(err)
		}
		if before, ok := seen[source.Digest()]; ok {
			t.Errorf("%s has the digest of %s", what, before)
		}
		seen[source.Digest()] = what
	}
	digest("dump.json alone")
	for _, name := range []string{stackFile, constructFile, debugFile, errorLogFile} {
		write(t, dump.Dir, name, "")
		digest("an empty " + name)
		write(t, dump.Dir, name, "{}")
		digest("a full " + name)
	}
}

func TestBatchesDoNotExceedTheirRowsAndDefinitionsComeFirst(t *testing.T) {
	t.Parallel()
	source, err := Open(Dump{Dir: filepath.Join(unpack(t, "D_tp_golden"), "D_tp_golden/dump/step0/rank0")}, Options{RunName: "r", RowsPerBatch: 50, EventTimeNs: 7})
	if err != nil {
		t.Fatal(err)
	}
	var all rows
	for m, err := range source.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Rows > 50 {
			t.Errorf("message %s of %d rows, want at most 50", m.ID(), m.Header.Rows)
		}
		all.add(t, m)
		if m.Header.Kind == "tensor" {
			references(t, all)
			if m.Header.MinEventTimeNs != 7 || m.Header.MaxEventTimeNs != 7 {
				t.Errorf("message %s of times %d to %d, want 7", m.ID(), m.Header.MinEventTimeNs, m.Header.MaxEventTimeNs)
			}
		}
	}
	if last := all.messages[len(all.messages)-1]; last.Header.Kind != "step" {
		t.Errorf("last message %s, want the step", last.ID())
	}
}

func TestProgressEndsAtTheSizeOfTheFiles(t *testing.T) {
	t.Parallel()
	opt := DefaultOptions("a run")
	last := int64(0)
	opt.Progress = func(read int64) {
		if read < last {
			t.Errorf("progress went back from %d to %d", last, read)
		}
		last = read
	}
	source, err := Open(Dump{Dir: filepath.Join(unpack(t, "A_llama_L1_md5"), "A_llama_L1_md5/dump/step0/proc8448")}, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range source.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if last != source.Bytes() || last == 0 {
		t.Errorf("progress ended at %d of %d bytes", last, source.Bytes())
	}
}

func TestARunIsDescribedByItsFiles(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"A_llama_L1_md5":          "pytorch L1 md5",
		"A_llama_mix_xor":         "pytorch mix xor",
		"A_llama_L0_statistics":   "pytorch L0 statistics",
		"A_llama_mix_structure":   "pytorch mix structure",
		"A_llama_mix_tensor_mlp1": "pytorch mix tensor",
	} {
		found, err := Find(unpack(t, name))
		if err != nil {
			t.Fatal(err)
		}
		row := RunRow(found, "my run", map[string]string{"k": "v"})
		if got := strings.Join([]string{row.Framework, row.Level, row.Task}, " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		m, err := RunMessage(&row)
		if err != nil {
			t.Fatal(err)
		}
		back, err := schemas.DecodeRows[schemas.RunRow](m)
		if err != nil || len(back) != 1 || back[0].Labels["k"] != "v" || back[0].Epoch != m.Header.Identity.Epoch {
			t.Errorf("%s: message %s holds %+v, %v", name, m.ID(), back, err)
		}
	}
}

func TestARunRowDependsOnItsContentAndNotOnTimes(t *testing.T) {
	t.Parallel()
	found, err := Find("testdata/kinds")
	if err != nil {
		t.Fatal(err)
	}
	a := RunRow(found, "run", nil)
	found.Dumps[0].ModTimeNs += 1e9
	if b := RunRow(found, "run", nil); a.Epoch != b.Epoch || a.FirstEventTimeNs == b.FirstEventTimeNs {
		t.Errorf("epochs %016x and %016x, want equal", a.Epoch, b.Epoch)
	}
	if b := RunRow(found, "run", map[string]string{"a": "b"}); a.Epoch == b.Epoch {
		t.Error("another label, same epoch")
	}
}

func TestADescriptionOfAnotherTimeIsAnotherMessage(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, at := range []int64{1, 2, 1} {
		m, err := RunMessage(&schemas.RunRow{RunID: 5, Epoch: 7, FirstEventTimeNs: at})
		if err != nil {
			t.Fatal(err)
		}
		ids[m.ID()] = true
	}
	if len(ids) != 2 {
		t.Errorf("ids %v, want one for each time", ids)
	}
}

func TestOldFilesWithoutFrameworkAreGuessedByTheirOps(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"task": "statistics", "level": "L0", "data": {"Cell.net.Net.forward.0": {}}}`: "mindspore L0 statistics",
		`{"data": {"Torch.a.0.forward": {}}, "level": "L1", "task": "statistics"}`:      "pytorch L1 statistics",
		`{"task": "statistics", "level": "L1", "framework": "pytorch", "data": {"Tor`:   "pytorch L1 statistics",
	} {
		found, err := Find(dumpOf(t, text).Dir)
		if err != nil {
			t.Fatal(err)
		}
		row := RunRow(found, "r", nil)
		if got := strings.Join([]string{row.Framework, row.Level, row.Task}, " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestOptionsSayWhatIsWrongWithThem(t *testing.T) {
	t.Parallel()
	for _, opt := range []Options{{RowsPerBatch: 1}, {RunName: strings.Repeat("x", 201), RowsPerBatch: 1}, {RunName: "r"}, {RunName: "r", RowsPerBatch: 1 << 20}} {
		if _, err := Open(Dump{Dir: "testdata/kinds/step3/proc4711"}, opt); err == nil {
			t.Errorf("Open with %.50v gives no error", opt)
		}
	}
	if _, err := Open(Dump{Dir: t.TempDir()}, DefaultOptions("r")); err == nil {
		t.Error("Open of an empty folder gives no error")
	}
}

func TestAReissuedSourceCarriesTheEpochGenerationAndTimeItWasGiven(t *testing.T) {
	t.Parallel()
	source, err := Open(dumpOf(t, fmt.Sprintf(indented, `{}`)), DefaultOptions("a run"))
	if err != nil {
		t.Fatal(err)
	}
	content := source.Digest()
	source.Reissue(77, 3, 99)
	var all rows
	for m, err := range source.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Identity.Epoch != 77 {
			t.Errorf("message %s, want epoch 77", m.ID())
		}
		all.add(t, m)
	}
	s := all.steps[0]
	if s.Generation != 3 || s.EventTimeNs != 99 || s.Epoch != 77 || all.ranks[0].Epoch != 77 || source.Digest() != content {
		t.Errorf("step %+v, rank %+v; want epoch 77, generation 3, time 99", s, all.ranks[0])
	}
}
