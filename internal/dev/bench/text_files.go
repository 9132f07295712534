package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/producers/logfiles"
	"github.com/tensortap/tensortap/producers/sglangshapes"
)

const (
	textMark      = 100.0 // MB of a file in a second of one core
	opsOfAPass    = 1000
	shapesLine    = `{"call_id": %d, "forward_pass": %d, "operation": "aten.mm.default", "inputs": {"self": {"shape": [128, 256], "dtype": "torch.float16"}, "mat2": {"shape": [256, 512], "dtype": "torch.float16"}}, "outputs": {"shape": [128, 512], "dtype": "torch.float16"}}` + "\n"
	lineOfProgram = "INFO 01-02 03:04:05 [loggers.py:1] a line of text that says what goes on in this program"
)

// measureTextFiles reads a large log and a large file of shapes, in seconds of a core.
func measureTextFiles(ctx context.Context, e *env) (section, error) {
	var s section
	size := int64(e.pick(200, 10)) * megabyte
	for _, file := range []struct {
		name, title string
		tool        producers.Tool
		write       func(w *bufio.Writer, number int)
	}{
		{"server.log", "a log read into rows", logfiles.Tool(time.UTC), writeLines},
		{"shapes.jsonl", "shapes as JSONL read into rows", sglangshapes.Tool(), writeShapes},
	} {
		path := filepath.Join(e.folder, file.name)
		if err := writeText(path, size, file.write); err != nil {
			return s, err
		}
		var speed rounds
		for range e.rounds {
			took, err := readText(ctx, file.tool, path)
			if err != nil {
				return s, err
			}
			speed = append(speed, float64(size)/megabyte/took)
			e.say("%s in %s of a core", file.name, seconds(took))
		}
		s.add(speed.atLeast(file.title+", MB a second of a core", textMark, whole))
	}
	s.note("The files are found, which reads them once, and read; rows are handed over as they are. Three of four lines of the log are of SGLang's batches, with ten numbers each; the shapes are of passes of 1,000 ops. Seconds are those that the process took of its cores, the collector of garbage with it.")
	return s, nil
}

// writeText writes at least so many bytes, by the number of the line.
func writeText(path string, size int64, line func(w *bufio.Writer, number int)) error {
	file, err := os.Create(path) //nolint:gosec // below the scratch folder
	if err != nil {
		return err
	}
	counted := &counter{file: file}
	w := bufio.NewWriter(counted)
	for number := 0; counted.bytes < size; number++ {
		line(w, number)
	}
	return errors.Join(w.Flush(), file.Close())
}

type counter struct {
	file  *os.File
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return c.file.Write(p)
}

func writeLines(w *bufio.Writer, number int) {
	if number%4 == 3 {
		_, _ = fmt.Fprintln(w, lineOfProgram)
		return
	}
	_, _ = fmt.Fprintf(w, "[2025-11-03 14:31:%02d TP0] Decode batch, #running-req: %d, #full token: 5632, full token usage: 0.12, mamba num: 4, mamba usage: 0.03, accept len: 3.12, accept rate: 0.56, cuda graph: True, gen throughput (token/s): 95.33, #queue-req: 1\n", number%60, number%1000)
}

func writeShapes(w *bufio.Writer, number int) {
	_, _ = fmt.Fprintf(w, shapesLine, number+1, number/opsOfAPass+1)
}

// readText is the seconds of a core that it takes to find a file and read it.
func readText(ctx context.Context, tool producers.Tool, path string) (float64, error) {
	before, err := ownSeconds()
	if err != nil {
		return 0, err
	}
	found, err := tool.Find(path)
	if err != nil {
		return 0, err
	}
	reader := found.Reader("a run", producers.Rows{})
	for i := range found.Dumps {
		problems, err := reader(ctx, i, nil)
		if err == nil && problems.Count > 0 {
			err = fmt.Errorf("problems in a file that has none: %q", problems.First)
		}
		if err != nil {
			return 0, err
		}
	}
	after, err := ownSeconds()
	return after - before, err
}
