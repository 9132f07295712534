package answers

import (
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

func TestARunIsRecordedLiveOrReadFromFiles(t *testing.T) {
	t.Parallel()
	u := program.PublishOnce(t, "B00_golden_mix")
	s := u.Setting
	s.Env = []string{"XDG_CACHE_HOME=" + t.TempDir()}
	out := program.Run(t, s, "run", "--run", "B00_golden_mix", "--", "true")
	if out.Status != program.ExitError || !strings.Contains(out.Stderr, "run B00_golden_mix is recorded already") {
		t.Errorf("run under the name of a run that was read from files: %v", out)
	}
	const live = "recorded live"
	if _, err := pipelines.Admit(t.Context(), program.ConnectStream(t, u.Endpoint.NATS), pipelines.StartRequest{RunID: schemas.RunID(live), Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	out = program.Run(t, u.Setting, "publish", "msprobe", recorded.Unpack(t, "B00_golden_mix"), "--run", live)
	if out.Status != program.ExitError || !strings.Contains(out.Stderr, "rank 0 is recorded already, live") {
		t.Errorf("publish under the name of a run that was recorded live: %v", out)
	}
}
