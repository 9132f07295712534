package main

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/recorded"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

func TestARunIsRecordedLiveOrReadFromFiles(t *testing.T) {
	t.Parallel()
	u := publishOnce(t, "B00_golden_mix")
	s := u.setting
	s.env = []string{"XDG_CACHE_HOME=" + t.TempDir()}
	out := process(t, s, "run", "--run", "B00_golden_mix", "--", "true")
	if out.status != exitError || !strings.Contains(out.stderr, "run B00_golden_mix is recorded already") {
		t.Errorf("run under the name of a run that was read from files: %v", out)
	}
	const live = "recorded live"
	if _, err := pipelines.Admit(t.Context(), connectStream(t, u.endpoint.NATS), pipelines.StartRequest{RunID: schemas.RunID(live), Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	out = inside(t, u.setting, "publish", "msprobe", recorded.Unpack(t, "B00_golden_mix"), "--run", live)
	if out.status != exitError || !strings.Contains(out.stderr, "rank 0 is recorded already, live") {
		t.Errorf("publish under the name of a run that was recorded live: %v", out)
	}
}
