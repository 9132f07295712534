package engines

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// engine is a server of models as its users install it. Nothing of it is replaced; it runs on the CPU.
type engine struct {
	name, module string
	verb         string                       // of the module's command line; empty where it has none
	prefix       string                       // of its own names of requests
	flags        []string                     // besides the model, its name and where to listen
	logged       func(folder string) []string // flags with which it tells of its requests, in that folder or in what it prints
	model, split string                       // the flags of the checkpoint and of the tensor-parallel size
	replicas     string                       // the flag of how many serve apart from each other
	environment  func(folder string, tp int) []string
	ready        string // a path that answers once models are served, and that computes nothing
	ask          func(r inference) (path string, body map[string]any)
}

// inference is what is asked of a server: so many tokens, whatever they are, after a prompt of numbered tokens.
type inference struct {
	name   string
	prompt []int
	tokens int
	chat   bool // vLLM logs the end of chats alone
}

// text is the prompt in words, which are the numbers of their tokens.
func (r inference) text() string { return strings.Trim(fmt.Sprint(r.prompt), "[]") }

func engines() []engine { return []engine{sglang(), vllm()} }

func sglang() engine {
	return engine{
		name: "sglang", module: "sglang.launch_server", model: "--model-path", split: "--tp", replicas: "--dp-size", ready: "/model_info",
		flags: []string{
			"--device", "cpu", "--attention-backend", "torch_native", "--dtype", "bfloat16", "--mem-fraction-static", "0.1",
			"--max-total-tokens", "2048", "--disable-overlap-schedule", "--skip-server-warmup",
		},
		logged: func(folder string) []string {
			return []string{"--enable-metrics", "--export-metrics-to-file", "--export-metrics-to-file-dir", folder}
		},
		environment: func(folder string, tp int) []string {
			variables := []string{"SGLANG_USE_CPU_ENGINE=1", "LD_LIBRARY_PATH=" + filepath.Join(folder, "libcuda")}
			if tp > 1 { // a CPU for each rank, and no NCCL, which its environment has and this machine cannot use
				variables = append(variables, "SGLANG_CPU_OMP_THREADS_BIND=0|1", "SGLANG_NCCL_SO_PATH=/nonexistent/libnccl.so")
			}
			return variables
		},
		ask: func(r inference) (string, map[string]any) {
			sampling := map[string]any{"temperature": 0, "max_new_tokens": r.tokens, "ignore_eos": true}
			return "/generate", map[string]any{"rid": r.name, "input_ids": r.prompt, "sampling_params": sampling}
		},
	}
}

func vllm() engine {
	return engine{
		name: "vllm", prefix: "chatcmpl-", module: "vllm.entrypoints.openai.api_server", model: "--model", split: "--tensor-parallel-size", replicas: "--data-parallel-size", ready: "/v1/models",
		// Without a time for it, vLLM kills its workers when it is asked to end.
		flags: []string{"--dtype", "bfloat16", "--enforce-eager", "--max-model-len", "512", "--max-num-seqs", "8", "--shutdown-timeout", "60"},
		logged: func(string) []string {
			return []string{"--enable-log-requests", "--enable-log-outputs", "--chat-template", "{{ messages[0].content }}", "--chat-template-content-format", "string"}
		},
		environment: func(_ string, tp int) []string {
			variables := []string{"VLLM_NO_USAGE_STATS=1", "DO_NOT_TRACK=1", "VLLM_CPU_KVCACHE_SPACE=1", "VLLM_WORKER_SHUTDOWN_TIMEOUT_SECONDS=60"}
			if tp > 1 {
				variables = append(variables, "VLLM_CPU_OMP_THREADS_BIND=0|1")
			}
			return variables
		},
		ask: func(r inference) (string, map[string]any) {
			body := map[string]any{"model": "tiny", "max_tokens": r.tokens, "temperature": 0, "ignore_eos": true, "request_id": r.name}
			if r.chat {
				body["skip_special_tokens"] = false // of NaN it makes the word 0, and logs no answer that is empty
				body["messages"] = []map[string]string{{"role": "user", "content": r.text()}}
				return "/v1/chat/completions", body
			}
			body["prompt"] = r.prompt
			return "/v1/completions", body
		},
	}
}

// modelServer is an engine at work below `tensortap run`, or by itself.
type modelServer struct {
	address string
	ready   string
	ask     func(r inference) (string, map[string]any)
	cmd     *exec.Cmd
	said    *testbed.Buffer
	ended   chan struct{}
}

// startsIn is how long an engine may take to serve: all of PyTorch is compiled to byte code at the first start.
const startsIn = 12 * time.Minute

// words are those of the engine's own command line.
func (e engine) words(folder, model string, tp, port int) []string {
	words := []string{filepath.Join(folder, e.name, "bin", "python"), "-m", e.module}
	if e.verb != "" {
		words = append(words, e.verb)
	}
	words = append(words, e.model, model, "--served-model-name", "tiny")
	words = append(words, "--host", "127.0.0.1", "--port", strconv.Itoa(port), e.split, strconv.Itoa(tp))
	return append(words, e.flags...)
}

// serve starts what the command says and returns when it serves. The command's processes are one group, which is killed
// when the test ends.
func (e engine) serve(tb testing.TB, port int, cmd *exec.Cmd) *modelServer {
	tb.Helper()
	address := "http://127.0.0.1:" + strconv.Itoa(port)
	s := &modelServer{address: address, ready: e.ready, ask: e.ask, cmd: cmd, said: &testbed.Buffer{}, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = s.said, s.said, &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		s.kill()
		if tb.Failed() {
			tb.Log(s.tail())
		}
	})
	go func() {
		_ = cmd.Wait()
		close(s.ended)
	}()
	began := time.Now()
	if err := program.Await(startsIn, e.name, func() bool { return s.isReady(tb.Context()) || s.isOver() }); err != nil || s.isOver() {
		tb.Fatalf("start %s: %v\n%s", e.name, err, s.tail())
	}
	tb.Logf("%s serves after %.0f s", e.name, time.Since(began).Seconds())
	return s
}

func (s *modelServer) isOver() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

func (s *modelServer) isReady(ctx context.Context) bool {
	time.Sleep(200 * time.Millisecond) // on two cores an engine needs both to start
	return s.http(ctx, http.MethodGet, s.ready, nil) == nil
}

// tail is the last that the server said.
func (s *modelServer) tail() string {
	said := s.said.String()
	return said[max(0, len(said)-6000):]
}

// stop ends the server as its users do, and returns when all is published.
func (s *modelServer) stop(tb testing.TB) {
	tb.Helper()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	s.wait(tb)
}

// wait returns when the server has ended by itself.
func (s *modelServer) wait(tb testing.TB) {
	tb.Helper()
	select {
	case <-s.ended:
	case <-time.After(3 * time.Minute):
		tb.Errorf("the server has not ended after 3 minutes\n%s", s.tail())
		s.kill()
	}
}

// signal reaches all processes of the server.
func (s *modelServer) signal(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if err := syscall.Kill(-s.cmd.Process.Pid, signal); err != nil {
		tb.Fatalf("%v to the server: %v", signal, err)
	}
}

func (s *modelServer) kill() {
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	<-s.ended
}

// generate asks for tokens and returns when they have all come.
func (s *modelServer) generate(ctx context.Context, r inference) error {
	path, body := s.ask(r)
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.http(ctx, http.MethodPost, path, text)
}

func (s *modelServer) http(ctx context.Context, method, path string, body []byte) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.address+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Close = true // a server that stood still finds the connections of before too old
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(response.Body)
	err = errors.Join(err, response.Body.Close())
	if response.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text))
	}
	return err
}

// engineFolder is where the engines are installed.
func engineFolder(tb testing.TB) string {
	tb.Helper()
	folder := os.Getenv("TENSORTAP_ENGINES")
	if folder == "" {
		tb.Skip("SKIPPED: TENSORTAP_ENGINES names no folder of engines; make test-engines installs them and runs this")
	}
	return folder
}

// models are the folders of checkpoints that differ in one thing each.
type models struct {
	good, bad string
	nan       string // the word notFinite has an embedding of NaN
	broken    string // one element of a weight is NaN, in rows of the last rank
	twice     string // the second of two ranks loads the shard of the first
}

// checkpoints writes models of so many layers.
func checkpoints(tb testing.TB, folder string, layers, hidden int) models {
	tb.Helper()
	dir := tb.TempDir()
	m := models{good: filepath.Join(dir, "good"), bad: filepath.Join(dir, "bad"), nan: filepath.Join(dir, "nan"), broken: filepath.Join(dir, "broken"), twice: filepath.Join(dir, "twice")}
	python := filepath.Join(folder, "vllm", "bin", "python")
	out, err := exec.CommandContext(tb.Context(), python, filepath.Join("testdata", "tiny_llama.py"), m.good, m.bad, m.nan, m.broken, m.twice, strconv.Itoa(layers), strconv.Itoa(hidden)).CombinedOutput()
	if err != nil {
		tb.Fatalf("write the models: %v\n%s", err, out)
	}
	return m
}
