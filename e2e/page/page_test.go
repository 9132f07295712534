// Package page holds the tests of the page: a browser opens it, of a real system that holds real dumps.
package page

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/e2e/internal/torch"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// web is the folder of the page's sources, as this package sees it.
const web = "../../web"

// hostileText is what nobody's page may take for anything but text.
const hostileText = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"> \u202edrow 🔥 "

// TestThePageInABrowser goes through what a person does: web/browser.
func TestThePageInABrowser(t *testing.T) {
	t.Parallel()
	browser, vitest := needed(t)
	u := program.StartUp(t, t.TempDir())
	recordTrouble(t, u)
	recordTokens(t, u)
	publish(t, u)
	requireSameTensors(t, u)
	goAhead := train(t, u)
	guarded, token := guard(t, u)
	cmd := exec.CommandContext(t.Context(), vitest, "run", "--config", "browser/vitest.config.ts")
	cmd.Dir = web
	cmd.Env = append(os.Environ(), "TENSORTAP_PAGE="+address(t, u), "TENSORTAP_BROWSER="+browser, "TENSORTAP_HOSTILE="+hostileText,
		"TENSORTAP_LIVE="+liveRun, "TENSORTAP_LIVE_GO="+goAhead,
		"TENSORTAP_GUARDED="+guarded, "TENSORTAP_TOKEN="+token)
	program.EndWithTests(cmd)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	} else if testing.Verbose() {
		t.Logf("%s", said)
	}
}

// guard serves the page a second time, to those who have a token.
func guard(t *testing.T, u *program.Up) (address, token string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	made := program.Run(t, u.Setting, "token", "new", "--tokens", file, "--role", "reader", "--name", "anna")
	if made.Status != program.ExitSame {
		t.Fatal(made)
	}
	return program.StartServe(t, u, "--tokens", file), strings.TrimSpace(made.Stdout)
}

// needed are the browser, and what runs its tests.
func needed(t *testing.T) (browser, vitest string) {
	t.Helper()
	testbed.Library(t)
	browser, err := exec.LookPath("chromium")
	if err != nil {
		testbed.Needed(t, "no Chromium: install the package chromium")
	}
	if vitest, err = filepath.Abs(filepath.Join(web, "node_modules", ".bin", "vitest")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{vitest, filepath.Join(web, "dist", "page", "index.html")} {
		if _, err := os.Stat(file); err != nil {
			testbed.Needed(t, "the page was not built: make web")
		}
	}
	return browser, vitest
}

// publish stores the runs that the stories are about.
func publish(t *testing.T, u *program.Up) {
	t.Helper()
	good := recorded.Unpack(t, "B00_golden_mix")
	u.Publish(t, recorded.Unpack(t, "B02_weight_mix"), "nightly-42", "--label", "team=vision", "--label", "branch=main")
	u.Publish(t, good, "golden", "--label", "team=vision")
	u.Publish(t, recorded.Unpack(t, "B14_nan_l2_mlp_step1_mix"), "with-nan", "--label", "team=speech")
	u.Publish(t, recorded.Unpack(t, "B05_extra_op_mix"), "extra-op")
	for side, value := range []float64{2.5, 1.5} {
		run := fmt.Sprint(hostileText, side)
		u.Publish(t, hostileDump(t, value), run, "--label", "l="+hostileText)
		if out := program.Run(t, u.Setting, "publish", "logs", hostileLog(t), "--run", run); out.Status != program.ExitSame {
			t.Fatalf("publish a log: %v", out)
		}
	}
	if out := program.Run(t, u.Setting, "publish", "memory-snapshot", "../../producers/memorysnapshot/testdata/leak", "--run", "snapshots"); out.Status != program.ExitSame {
		t.Fatalf("publish snapshots of memory: %v", out)
	}
	steps := []string{"run", "--run", "recorded", "--level", "L0", "--", torch.Python(t), "../collector/testdata/plain_steps.py", "12", "0"}
	if out := program.Run(t, u.Setting, steps...); out.Status != program.ExitSame {
		t.Fatalf("record a run: %v", out)
	}
	u.Settle(t)
}

// liveRun trains while the stories are told.
const liveRun = "in-training"

// train starts a program that trains until the test ends. Once there is a file at the path, it makes a NaN.
func train(t *testing.T, u *program.Up) (goAhead string) {
	t.Helper()
	goAhead = filepath.Join(t.TempDir(), "go")
	at := u.Setting
	at.Env = append([]string{"GO=" + goAhead}, at.Env...)
	cmd := program.Command(t, at, "run", "--run", liveRun, "--", torch.Python(t), "testdata/goes_wrong.py")
	var said testbed.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("the training said: %s", &said)
		}
	})
	return goAhead
}

// hostileDump is a dump whose ops, modules and call stacks have names that nobody should give, one of them 10 kB long.
func hostileDump(t *testing.T, value float64) string {
	t.Helper()
	data, ops := map[string]any{}, []string{}
	for _, name := range []string{"Functional." + hostileText + ".0.forward", "Module." + hostileText + ".Linear.forward.0", "Functional." + strings.Repeat("long", 2500) + ".0.forward"} {
		tensor := map[string]any{"type": "torch.Tensor", "dtype": "torch.float32", "shape": []int{2}, "Max": value, "Min": 0, "Mean": 1, "Norm": value, "requires_grad": false}
		ops = append(ops, name)
		data[name] = map[string]any{"input_args": []any{tensor}, "input_kwargs": map[string]any{}, "output": []any{tensor}}
	}
	dir := filepath.Join(t.TempDir(), "step0", "rank0")
	text, err := json.Marshal(map[string]any{"task": "statistics", "level": "L1", "framework": "pytorch", "dump_data_dir": nil, "data": data})
	stacks, stackErr := json.Marshal(map[string]any{"0": []any{ops, []string{"File frame " + hostileText + ", line 1, in f"}}})
	if err := errors.Join(err, stackErr, os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "dump.json"), text, 0o600),
		os.WriteFile(filepath.Join(dir, "stack.json"), stacks, 0o600)); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(filepath.Dir(dir))
}

// hostileLog is a log whose name, lines, logger and traceback nobody should have.
func hostileLog(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), `<img src=x onerror="document.title='taken'">.log`)
	text := "2026-11-29 12:00:00,000 - " + hostileText + " - ERROR - line " + hostileText + "\nTraceback (most recent call last):\n  File \"" + hostileText + "\", line 1, in f\nValueError: raised " + hostileText + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// address is that of the page, as the program says.
func address(t *testing.T, u *program.Up) string {
	t.Helper()
	found := regexp.MustCompile(`page\s+(http://\S+)`).FindStringSubmatch(u.Stdout.String())
	if found == nil {
		t.Fatalf("up does not say where its page is: %s", u.Stdout)
	}
	return found[1]
}
