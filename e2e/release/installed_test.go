package release

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// TestEachInstallationRunsTheFirstExample installs into an environment that has nothing but PyTorch, runs the example of the readme, and asks the released program for
// what came of it.
func TestEachInstallationRunsTheFirstExample(t *testing.T) {
	t.Parallel()
	released := unpackedProgram(t, runtime.GOARCH)
	readme, err := os.ReadFile("../../producers/torch/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```python\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the readme has no example")
	}
	data := t.TempDir()
	up := startUp(t, released, data)
	for name, built := range map[string]string{"wheel": wheel(t, thisProcessor(t)), "sdist": sdist(t)} {
		python := emptyEnvironment(t)
		install(t, python, built)
		cmd := exec.CommandContext(t.Context(), python, "-c", strings.Replace(example, `run="first"`, `run="`+name+`"`, 1)) //nolint:gosec // of the tests
		cmd.Dir, cmd.Env = t.TempDir(), append(program.Setting{Data: data}.Environment(t), "OMP_NUM_THREADS=1")
		if said, err := cmd.CombinedOutput(); err != nil || len(said) != 0 {
			t.Fatalf("the example after installing the %s: %v\n%s", name, err, said)
		}
		steps := "SELECT toString(uniqExact(step)), toString(countIf(value_mean IS NOT NULL) > 30) FROM tap.tensors WHERE run = '" + name + "'"
		if err := program.Await(time.Minute, "three steps of run "+name, func() bool {
			out := ask(t, released, up.Setting, "query", steps, "--output", "csv")
			return out.Status == 0 && program.LastLine(out.Stdout) == "3,1"
		}); err != nil {
			t.Errorf("%v: %v", err, ask(t, released, up.Setting, "query", steps))
		}
		config := "SELECT toString(count()), toString(countIf(config LIKE '%no C kernel%')) FROM tap.runs WHERE name = '" + name + "'"
		if out := ask(t, released, up.Setting, "query", config, "--output", "csv"); program.LastLine(out.Stdout) != "1,0" {
			t.Errorf("the %s was installed without its kernel, or there is no such run: %v", name, out)
		}
	}
	if err := up.Stop(); err != nil {
		t.Error(err)
	}
}

func TestTheReleasedProgramComparesAndPublishes(t *testing.T) {
	t.Parallel()
	released := unpackedProgram(t, runtime.GOARCH)
	problem, bench := recorded.Unpack(t, "B02_weight_mix"), recorded.Unpack(t, "B00_golden_mix")
	setting := program.Setting{}
	checkAlone(t, func(args ...string) program.Outcome { return ask(t, released, setting, args...) }, runtime.GOARCH, problem, bench)
	up := startUp(t, released, t.TempDir())
	for run, dir := range map[string]string{"bad": problem, "good": bench} {
		if out := ask(t, released, up.Setting, "publish", "msprobe", dir, "--run", run); out.Status != program.ExitSame {
			t.Fatalf("publish: %v", out)
		}
	}
	if out := ask(t, released, up.Setting, "compare", "bad", "good"); out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, "Functional.linear.20.forward") {
		t.Errorf("compare stored runs: %v", out)
	}
	if err := up.Stop(); err != nil {
		t.Error(err)
	}
}

// TestTheProgramOfTheOtherMachineWorksAlone emulates the other machine.
func TestTheProgramOfTheOtherMachineWorksAlone(t *testing.T) {
	t.Parallel()
	emulator := strings.Fields(given(t, "TENSORTAP_QEMU"))
	path := unpackedProgram(t, "arm64")
	run := func(args ...string) program.Outcome {
		return ended(t, exec.CommandContext(t.Context(), emulator[0], append(append(emulator[1:], path), args...)...), program.Setting{}) //nolint:gosec // of the tests
	}
	checkAlone(t, run, "arm64", recorded.Unpack(t, "B02_weight_mix"), recorded.Unpack(t, "B00_golden_mix"))
	if out := run("up"); out.Status != program.ExitError || !strings.Contains(out.Stderr, "--clickhouse") {
		t.Errorf("up where there is no engine: %v, want the way out", out)
	}
}

// checkAlone asks for what needs no system.
func checkAlone(t *testing.T, run func(args ...string) program.Outcome, arch, problem, bench string) {
	t.Helper()
	_, name, _ := strings.Cut(filepath.Base(theFile(t, "tensortap-*-linux-"+arch+".tar.gz")), "-")
	stamp := strings.TrimSuffix(name, "-linux-"+arch+".tar.gz")
	if out := run("version"); out.Status != program.ExitSame || !strings.HasPrefix(out.Stdout, "tensortap "+stamp+" (") || !strings.Contains(out.Stdout, "linux/"+arch) {
		t.Errorf("version: %v, want that of %s", out, name)
	}
	out := run("compare", filepath.Join(problem, "step0"), filepath.Join(bench, "step0"))
	if out.Status != program.ExitDiffers || !strings.Contains(out.Stdout, "Functional.linear.20.forward") {
		t.Errorf("compare folders: %v", out)
	}
}

func TestEachProgramCarriesTheKernelOfItsMachine(t *testing.T) {
	t.Parallel()
	for processor, arch := range processors() {
		path := unpackedProgram(t, arch)
		text, err := os.ReadFile(path) //nolint:gosec // of the release
		if err != nil {
			t.Fatal(err)
		}
		for other := range processors() {
			if carries := strings.Contains(string(text), string(inWheel(t, other, kernelName))); carries != (other == processor) {
				t.Errorf("the program for %s carries the kernel for %s: %v", arch, other, carries)
			}
		}
		file, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		checkNeeds(t, "the program for "+arch, file)
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

// unpackedProgram is the program of the release; with it come the licences.
func unpackedProgram(tb testing.TB, arch string) string {
	tb.Helper()
	path, beside := filepath.Join(tb.TempDir(), "tensortap"), map[string]bool{}
	unpack(tb, theFile(tb, "tensortap-*-linux-"+arch+".tar.gz"), func(name string, content []byte) {
		beside[filepath.Base(name)] = len(content) > 0
		if filepath.Base(name) == "tensortap" {
			if err := os.WriteFile(path, content, 0o700); err != nil { //nolint:gosec // a program
				tb.Fatal(err)
			}
		}
	})
	if !beside["tensortap"] || !beside["LICENSE"] || !beside["NOTICES"] {
		tb.Fatalf("the archive for %s has %v", arch, beside)
	}
	return path
}

func startUp(tb testing.TB, released, data string) *program.Up {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), released, "up") //nolint:gosec // of the release
	cmd.Env = program.Setting{Data: data}.Environment(tb)
	program.EndWithTests(cmd)
	up := program.NewUp(data, cmd)
	if err := up.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = up.Kill() })
	return up
}

func ask(tb testing.TB, released string, s program.Setting, args ...string) program.Outcome {
	tb.Helper()
	return ended(tb, exec.CommandContext(tb.Context(), released, args...), s) //nolint:gosec // of the release
}

func ended(tb testing.TB, cmd *exec.Cmd, s program.Setting) program.Outcome {
	tb.Helper()
	var stdout, stderr strings.Builder
	cmd.Env, cmd.Stdout, cmd.Stderr = s.Environment(tb), &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		tb.Fatalf("start %v: %v", cmd.Args, err)
	}
	return program.Outcome{Status: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}

// emptyEnvironment has PyTorch and what that needs, of the tests' environment, and nothing else.
func emptyEnvironment(tb testing.TB) string {
	tb.Helper()
	torch, folder := given(tb, "TENSORTAP_TORCH"), filepath.Join(tb.TempDir(), "environment")
	command(tb, given(tb, "TENSORTAP_UV"), "venv", "--quiet", "--python", torch, folder)
	seen := command(tb, torch, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
	found, err := filepath.Glob(filepath.Join(folder, "lib", "python*", "site-packages"))
	if err != nil || len(found) != 1 {
		tb.Fatalf("%s has %q, %v", folder, found, err)
	}
	if err := os.WriteFile(filepath.Join(found[0], "torch.pth"), []byte(seen), 0o600); err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(folder, "bin", "python")
}

func install(tb testing.TB, python, path string) {
	tb.Helper()
	command(tb, given(tb, "TENSORTAP_UV"), "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-cache", "--python", python, path)
}

func command(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	said, err := exec.CommandContext(tb.Context(), name, args...).Output() //nolint:gosec // of the tests
	if err != nil {
		tb.Fatalf("%s %v: %v %s", name, args, err, said)
	}
	return string(said)
}
