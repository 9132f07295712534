package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// orders are the parent's instructions to the child, as the first line on its standard input: they do not show in
// the list of processes.
type orders struct {
	Library   string   `json:"library"`
	Arguments []string `json:"arguments"`
	// Apart says that the child has a network of its own, in which the engine listens on Port.
	Apart bool `json:"apart"`
	Port  int  `json:"port"`
	// Writable and Readable are the folders that the engine may use; see confine.
	Writable []string `json:"writable"`
	Readable []string `json:"readable"`
}

// RunEngine is the whole of the engine's process, `tensortap engine serve`: it loads the library and runs
// ClickHouse until stdin, which the parent holds, is closed; then it returns nil, and the caller must end the
// process at once. It returns an error if the engine could not start or ended by itself. Warnings go to stderr.
func RunEngine(stdin io.Reader, stderr io.Writer) error {
	decoder := json.NewDecoder(stdin)
	var o orders
	if err := decoder.Decode(&o); err != nil {
		return fmt.Errorf("read the engine's orders from standard input (this command is run by tensortap itself): %w", err)
	}
	if err := errors.Join(CloseToOthers(), closeMemory()); err != nil {
		return err
	}
	if o.Apart {
		if err := openPassage(o.Port); err != nil {
			return err
		}
	}
	ended := make(chan error, 2)
	// Two plain goroutines and no errgroup: neither can be waited for. The engine cannot be told to stop, and the
	// read of stdin ends with the parent; the process ends with the first of them.
	go func() { ended <- runLibrary(o, stderr) }()
	go func() {
		_, err := io.Copy(io.Discard, stdin)
		ended <- err
	}()
	return <-ended
}

// runLibrary blocks in ClickHouse. It must not return to the scheduler meanwhile, and its thread is confined before
// the library starts threads of its own, which inherit that.
func runLibrary(o orders, stderr io.Writer) error {
	runtime.LockOSThread()
	library, err := purego.Dlopen(o.Library, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return fmt.Errorf("load the ClickHouse engine library: %w", err)
	}
	if err := confine(o.Writable, append(o.Readable, o.Library)); err != nil {
		_, _ = fmt.Fprintf(stderr, "the engine is not confined to its folder: %v\n", err)
	}
	var query func(argc int32, argv unsafe.Pointer) unsafe.Pointer
	var problem func(result unsafe.Pointer) string
	purego.RegisterLibFunc(&query, library, "chdb_query_cmdline")
	purego.RegisterLibFunc(&problem, library, "chdb_result_error")
	argv := cStrings(append([]string{"clickhouse"}, o.Arguments...))
	result := query(int32(len(argv)-1), unsafe.Pointer(&argv[0])) //nolint:gosec // a handful of arguments
	runtime.KeepAlive(argv)
	if result != nil {
		if text := problem(result); text != "" {
			return errors.New("the ClickHouse engine ended: " + text)
		}
	}
	return errors.New("the ClickHouse engine ended by itself") // its message, if any, is on stderr
}

// cStrings returns argv as C has it: each ends with a zero byte, the whole with a null pointer.
func cStrings(texts []string) []*byte {
	argv := make([]*byte, 0, len(texts)+1)
	for _, text := range texts {
		bytes := append([]byte(text), 0)
		argv = append(argv, &bytes[0])
	}
	return append(argv, nil)
}
