package deploy

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// fleet is the services of the compose file as processes of this machine: commands, environments, configurations and secrets are
// those of the file, at other places.
type fleet struct {
	tb         testing.TB
	project    *types.Project
	secrets    string
	volumes    string // folder of those that services share
	token      string // of a reader of the page
	nats       string // address
	clickhouse string // address
	said       []*testbed.Buffer
}

func startFleet(tb testing.TB) *fleet {
	tb.Helper()
	f := &fleet{tb: tb, secrets: filepath.Join(tb.TempDir(), "secrets"), volumes: tb.TempDir(), clickhouse: testbed.FreeAddress(tb)}
	made := program.Run(tb, program.Setting{}, "credentials", f.secrets, "--database", f.clickhouse)
	if made.Status != 0 {
		tb.Fatal(made)
	}
	token := program.Run(tb, program.Setting{}, "token", "new", "--tokens", filepath.Join(f.secrets, "page.tokens"), "--role", "reader", "--name", "demo")
	if f.token = strings.TrimSpace(token.Stdout); token.Status != 0 {
		tb.Fatal(token)
	}
	f.project = load(tb, []string{"TENSORTAP_SECRETS=" + f.secrets}, "docker-compose.yml")
	f.startNATS()
	f.startClickHouse()
	return f
}

func (f *fleet) must(err error) {
	f.tb.Helper()
	if err != nil {
		f.tb.Fatal(err)
	}
}

// container is where a service finds its files here.
type container struct {
	folder string
	mounts []string // paths in the container
}

// lay copies what the service mounts into a folder, where all paths begin.
func (f *fleet) lay(s *types.ServiceConfig) container {
	f.tb.Helper()
	c := container{folder: f.tb.TempDir(), mounts: []string{"/run/secrets/"}}
	for _, v := range s.Volumes {
		c.mounts = append(c.mounts, v.Target)
		if v.Type == types.VolumeTypeBind {
			c.copy(f.tb, v.Source, v.Target)
		} else {
			f.mount(c, v.Source, v.Target)
		}
	}
	for _, secret := range s.Secrets {
		target := secret.Target
		if target == "" {
			target = secret.Source
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join("/run/secrets", target)
		} else {
			c.mounts = append(c.mounts, target)
		}
		c.copy(f.tb, f.project.Secrets[secret.Source].File, target)
	}
	// Of two mounts the longer is the inner one.
	slices.SortFunc(c.mounts, func(a, b string) int { return len(b) - len(a) })
	return c
}

// mount has all services with that volume share a folder.
func (f *fleet) mount(c container, volume, target string) {
	f.tb.Helper()
	shared, path := filepath.Join(f.volumes, volume), filepath.Join(c.folder, target)
	f.must(os.MkdirAll(shared, 0o700))
	f.must(os.MkdirAll(filepath.Dir(path), 0o700))
	f.must(os.Symlink(shared, path))
}

func (c container) copy(tb testing.TB, source, target string) {
	tb.Helper()
	path := filepath.Join(c.folder, target)
	if info, err := os.Stat(source); err == nil && info.IsDir() {
		if err := os.CopyFS(path, os.DirFS(source)); err != nil {
			tb.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(source)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// here is the text with paths of the container as they are here.
func (c container) here(text string) string {
	for _, mount := range c.mounts {
		if strings.Contains(text, c.folder) {
			return text
		}
		text = strings.ReplaceAll(text, mount, c.folder+mount)
	}
	return text
}

func (f *fleet) service(name string) *types.ServiceConfig {
	f.tb.Helper()
	s, err := f.project.GetService(name)
	f.must(err)
	return &s
}

// startNATS runs the server that nats-server's main function runs, with the same arguments.
func (f *fleet) startNATS() {
	f.tb.Helper()
	s := f.service("nats")
	c := f.lay(s)
	var args []string
	for _, arg := range s.Command {
		args = append(args, c.here(arg))
	}
	nothing := func() {}
	options, err := server.ConfigureOptions(flag.NewFlagSet("nats-server", flag.ContinueOnError), args, nothing, nothing, nothing)
	f.must(err)
	if options.Port != 4222 || options.StoreDir != "/data" || !options.SyncAlways || len(options.Nkeys) > 0 && !options.JetStream {
		f.tb.Errorf("the server's configuration: port %d, store %s, sync always %v", options.Port, options.StoreDir, options.SyncAlways)
	}
	options.Host, options.Port, options.HTTPPort, options.StoreDir, options.NoSigs, options.NoLog = "127.0.0.1", -1, 0, c.here(options.StoreDir), true, true
	nats, err := server.NewServer(options)
	f.must(err)
	nats.Start()
	f.tb.Cleanup(func() { nats.Shutdown(); nats.WaitForShutdown() })
	if !nats.ReadyForConnections(time.Minute) {
		f.tb.Fatal("the NATS server is not ready after a minute")
	}
	f.nats = nats.Addr().String()
}

// What the image of ClickHouse has besides: its own files of settings, as far as the engine needs them.
const (
	imageConfig = `<clickhouse><users_config>users.xml</users_config><user_directories><users_xml><path>USERS</path></users_xml></user_directories>
<tcp_port>9000</tcp_port><mysql_port>9004</mysql_port><listen_host>::</listen_host><query_log><database>system</database><table>query_log</table></query_log></clickhouse>`
	imageUsers = `<clickhouse><profiles><default/></profiles><users><default><password></password><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota></default></users><quotas><default/></quotas></clickhouse>`
	// The engine is ClickHouse in a session of its own, which logs in without a password to open the port.
	ownSession = `<clickhouse><users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota><grants><query>GRANT SYSTEM LISTEN ON *.*</query></grants></default></users></clickhouse>`
	keepAlive  = "SYSTEM START LISTEN HTTP; SELECT count() FROM numbers(4000000000) WHERE NOT ignore(sleepEachRow(3)) SETTINGS max_block_size=1, max_threads=1, max_execution_time=0"
)

// startClickHouse runs the engine with the configuration that the server gets.
func (f *fleet) startClickHouse() {
	f.tb.Helper()
	c := f.lay(f.service("clickhouse"))
	etc := filepath.Join(c.folder, "etc", "clickhouse-server")
	users := filepath.Join(etc, "users.d", "zz-tensortap.xml")
	text, err := os.ReadFile(users)
	f.must(err)
	for path, text := range map[string]string{
		users: c.here(string(text)), filepath.Join(etc, "config.xml"): strings.ReplaceAll(imageConfig, "USERS", filepath.Join(etc, "users.xml")),
		filepath.Join(etc, "users.xml"): imageUsers, filepath.Join(etc, "users.d", "zzz-session.xml"): ownSession,
	} {
		f.must(os.WriteFile(path, []byte(text), 0o600))
	}
	_, port, err := net.SplitHostPort(f.clickhouse)
	f.must(err)
	line, err := json.Marshal(map[string]any{
		"library": testbed.Library(f.tb), "writable": []string{c.folder, f.volumes},
		"arguments": []string{
			"--config-file", filepath.Join(etc, "config.xml"), "--path", filepath.Join(c.folder, "var", "lib", "clickhouse"),
			"--listen_host", "127.0.0.1", "--http_port", port, "--query", keepAlive,
		},
	})
	f.must(err)
	engine := program.Command(f.tb, program.Setting{}, "engine", "serve")
	reading, writing, err := os.Pipe()
	f.must(err)
	engine.Stdin = reading
	up := f.begin(engine)
	f.tb.Cleanup(func() { _, _ = writing.Close(), up.Kill() })
	_, err = writing.Write(append(line, '\n'))
	f.must(err)
	err = program.Await(program.Patience, "ClickHouse to answer", func() bool {
		status, _ := f.ask("http://"+f.clickhouse+"/ping", "", "")
		return status == http.StatusOK
	})
	if err != nil {
		f.tb.Fatalf("%v\n%s", err, up.Stderr)
	}
}

// ask asks ClickHouse as that user.
func (f *fleet) ask(address, user, password string) (status int, text string) {
	f.tb.Helper()
	request, err := http.NewRequestWithContext(f.tb.Context(), http.MethodGet, address, nil)
	f.must(err)
	if user != "" {
		request.SetBasicAuth(user, password)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	f.must(err)
	return response.StatusCode, string(body)
}

func (f *fleet) begin(cmd *exec.Cmd) *program.Up {
	f.tb.Helper()
	up := program.NewUp("", cmd)
	f.must(up.Begin())
	f.said = append(f.said, up.Stdout, up.Stderr)
	return up
}

// command is the service's command as a process here.
func (f *fleet) command(s *types.ServiceConfig, args ...string) *exec.Cmd {
	f.tb.Helper()
	c := f.lay(s)
	if len(args) == 0 {
		args = slices.Clone(s.Command)
	}
	for i := range args {
		args[i] = c.here(args[i])
	}
	cmd := program.Command(f.tb, program.Setting{Data: c.folder}, args...)
	for name, value := range s.Environment {
		there := strings.NewReplacer("nats:4222", f.nats, "0.0.0.0:9464", "127.0.0.1:0", "0.0.0.0:7070", "127.0.0.1:0", "clickhouse:8123", f.clickhouse).Replace(*value)
		cmd.Env = append(cmd.Env, name+"="+c.here(there))
	}
	f.enter(s, cmd)
	return cmd
}

// run runs the service's command to its end and, as Docker does for this service, again where it fails.
func (f *fleet) run(name string) {
	f.tb.Helper()
	s := f.service(name)
	if s.Restart != types.RestartPolicyOnFailure {
		f.tb.Fatalf("%s is restarted %q", name, s.Restart)
	}
	var said string
	err := program.Await(program.Patience, name, func() bool {
		up := f.begin(f.command(s))
		<-up.Ended
		said = up.Stderr.String()
		return up.Cmd.ProcessState.ExitCode() == 0
	})
	if err != nil {
		f.tb.Fatalf("%v\n%s", err, said)
	}
}

// secretTexts are the passwords and seeds that nobody may show.
func (f *fleet) secretTexts() [][]byte {
	f.tb.Helper()
	all := [][]byte{[]byte(f.token)}
	for _, pattern := range []string{"*.password", "*.nk"} {
		files, err := filepath.Glob(filepath.Join(f.secrets, pattern))
		f.must(err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			f.must(err)
			lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
			all = append(all, lines[len(lines)-1])
		}
	}
	return all
}
