package release

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const kernelName = "statistics.so"

// kernel writes the kernel of a wheel into a file.
func kernel(tb testing.TB, processor string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), kernelName)
	if err := os.WriteFile(path, inWheel(tb, processor, kernelName), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func TestTheKernelsAskForNoNewerGlibcThanTheirWheels(t *testing.T) {
	t.Parallel()
	for processor, machine := range map[string]elf.Machine{"x86_64": elf.EM_X86_64, "aarch64": elf.EM_AARCH64} {
		file, err := elf.NewFile(bytes.NewReader(inWheel(t, processor, kernelName)))
		if err != nil {
			t.Fatal(err)
		}
		if file.Machine != machine {
			t.Errorf("the kernel of the wheel for %s is for %v", processor, file.Machine)
		}
		checkNeeds(t, "the kernel for "+processor, file)
		exported, err := file.DynamicSymbols()
		if err != nil || !slices.ContainsFunc(exported, func(s elf.Symbol) bool { return s.Name == "tap_measure" && s.Section != elf.SHN_UNDEF }) {
			t.Errorf("the kernel for %s has no tap_measure, %v", processor, err)
		}
	}
}

// checkNeeds holds a file against manylinux_2_17: which libraries it may need, and in which version.
func checkNeeds(t *testing.T, what string, file *elf.File) {
	t.Helper()
	libraries, err := file.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	for _, library := range libraries {
		if !slices.Contains([]string{"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-aarch64.so.1"}, library) {
			t.Errorf("%s needs %s", what, library)
		}
	}
	symbols, err := file.ImportedSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		var major, minor int
		if _, err := fmt.Sscanf(s.Version, "GLIBC_%d.%d", &major, &minor); s.Version != "" && (err != nil || major != 2 || minor > 17) {
			t.Errorf("%s needs %s of %s", what, s.Name, s.Version)
		}
	}
}

func TestTheKernelTakesTheWidestVectorsOfThisMachine(t *testing.T) {
	t.Parallel()
	path := kernel(t, thisProcessor(t))
	script, err := filepath.Abs("../../producers/torch/tests/test_width.py")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), given(t, "TENSORTAP_TORCH"), "-m", "pytest", script) //nolint:gosec // of the tests
	cmd.Dir = filepath.Dir(filepath.Dir(script))
	cmd.Env = append(os.Environ(), "TENSORTAP_KERNEL="+path, "OMP_NUM_THREADS=1")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// TestKernelsOfBothMachinesWriteTheSameBits also holds zig's kernel against itself on the machine at hand, and so against that of `make kernel`,
// which the collector's tests hold against references.
func TestKernelsOfBothMachinesWriteTheSameBits(t *testing.T) {
	t.Parallel()
	emulator := strings.Fields(given(t, "TENSORTAP_QEMU"))
	caller := filepath.Join(t.TempDir(), "elsewhere")
	zig := append(strings.Fields(given(t, "TENSORTAP_ZIG")), "cc", "-target", "aarch64-linux-gnu.2.17", "-O2", "-g0", "-o", caller, "testdata/elsewhere.c", "-ldl")
	if said, err := exec.CommandContext(t.Context(), zig[0], zig[1:]...).CombinedOutput(); err != nil { //nolint:gosec // of the tests
		t.Fatalf("compile: %v\n%s", err, said)
	}
	there := kernel(t, "aarch64")
	for name, here := range map[string]string{"the wheel's": kernel(t, thisProcessor(t)), "make kernel's": ownKernel(t)} {
		args := slices.Concat([]string{"testdata/alike.py", here}, emulator, []string{caller, there})
		said, err := exec.CommandContext(t.Context(), given(t, "TENSORTAP_TORCH"), args...).CombinedOutput() //nolint:gosec // of the tests
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		if compared, differ, _ := strings.Cut(string(said), "\n"); compared != "322" || differ != "" {
			t.Errorf("%s kernel and that for aarch64: %s tensors compared, want 322; these differ:\n%s", name, compared, differ)
		}
	}
}

func ownKernel(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join("../../producers/torch/src/tensortap/_stats", kernelName)
	if _, err := os.Stat(path); err != nil {
		tb.Fatalf("there is no kernel, make kernel: %v", err)
	}
	return path
}

// thisProcessor is the wheels' name for the machine at hand.
func thisProcessor(tb testing.TB) string {
	tb.Helper()
	for processor, name := range processors() {
		if name == runtime.GOARCH {
			return processor
		}
	}
	tb.Fatalf("no wheel is for %s", runtime.GOARCH)
	return ""
}
