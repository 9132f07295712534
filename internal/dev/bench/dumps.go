package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/schemas"
)

// unpack extracts a recorded dump into a folder and returns its root.
func (e *env) unpack(name, to string) (string, error) {
	file, err := os.Open(filepath.Join(e.dumps, name+".tar.gz"))
	if err != nil {
		return "", err
	}
	defer file.Close() //nolint:errcheck // only read
	plain, err := gzip.NewReader(file)
	if err != nil {
		return "", err
	}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(to, name), nil
		}
		if err == nil && header.Typeflag == tar.TypeReg {
			err = extract(archive, filepath.Join(to, filepath.Clean("/"+header.Name)))
		}
		if err != nil {
			return "", fmt.Errorf("unpack %s: %w", name, err)
		}
	}
}

func extract(from io.Reader, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.Create(path) //nolint:gosec // below the scratch folder
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}

// enlarge writes a dump of so many ops: those of a recorded rank folder again and again, under new names.
func enlarge(recorded, to string, ops int) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	var names []string
	err := rewrite(recorded, to, "dump.json", func(text []byte, w *bufio.Writer) error {
		var err error
		names, err = enlargeDump(text, w, ops)
		return err
	})
	copies := (ops + len(names) - 1) / max(1, len(names))
	return errors.Join(err,
		rewrite(recorded, to, "construct.json", func(text []byte, w *bufio.Writer) error { return enlargeConstruct(text, w, copies) }),
		rewrite(recorded, to, "stack.json", func(text []byte, w *bufio.Writer) error { return enlargeStacks(text, w, copies) }),
	)
}

func rewrite(from, to, name string, change func([]byte, *bufio.Writer) error) error {
	text, err := os.ReadFile(filepath.Join(from, name)) //nolint:gosec // below the scratch folder
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(to, name)) //nolint:gosec // below the scratch folder
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	return errors.Join(change(text, w), w.Flush(), file.Close())
}

// enlargeDump keeps the head of the file and the text of each op, and returns the recorded names.
func enlargeDump(text []byte, w *bufio.Writer, ops int) ([]string, error) {
	const opening = "\"data\": {"
	at := bytes.Index(text, []byte(opening))
	if at < 0 {
		return nil, errors.New("dump.json has no data")
	}
	names, values, err := members(text[at+len(opening)-1:])
	if err != nil {
		return nil, err
	}
	_, _ = w.Write(text[:at+len(opening)]) // the error stays until Flush
	for i := range ops {
		separator := ","
		if i == 0 {
			separator = ""
		}
		fmt.Fprintf(w, "%s\n  %q: %s", separator, renamed(names[i%len(names)], i/len(names)), values[i%len(names)])
	}
	_, _ = w.WriteString("\n }\n}\n")
	return names, nil
}

// members are the keys and values of a JSON object in their order.
func members(text []byte) (keys []string, values []json.RawMessage, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if _, err := decoder.Token(); err != nil {
		return nil, nil, err
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, nil, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, nil, err
		}
		keys, values = append(keys, fmt.Sprint(key)), append(values, value)
	}
	return keys, values, nil
}

// callIndex is the number of a call in the name of an API's op, as in Tensor.add.3.forward.
var callIndex = regexp.MustCompile(`\.(\d+)\.(\w+)$`)

// renamed is the name of an op in a copy: of another block, or a later call.
func renamed(name string, copied int) string {
	if copied == 0 {
		return name
	}
	if rest, isModule := strings.CutPrefix(name, "Module."); isModule {
		return fmt.Sprintf("Module.block%d.%s", copied, rest)
	}
	at := callIndex.FindStringSubmatchIndex(name)
	if at == nil {
		return fmt.Sprintf("%s.copy%d", name, copied)
	}
	call, _ := strconv.Atoi(name[at[2]:at[3]]) // digits
	return fmt.Sprintf("%s.%d.%s", name[:at[0]], call+1000*copied, name[at[4]:at[5]])
}

func enlargeConstruct(text []byte, w *bufio.Writer, copies int) error {
	names, parents, err := members(text)
	if err != nil {
		return err
	}
	separator := "{"
	for i := range copies * len(names) {
		parent := parents[i%len(names)]
		var name string
		if json.Unmarshal(parent, &name) == nil && name != "" {
			parent = fmt.Appendf(nil, "%q", renamed(name, i/len(names)))
		}
		fmt.Fprintf(w, "%s\n %q: %s", separator, renamed(names[i%len(names)], i/len(names)), parent)
		separator = ","
	}
	_, _ = w.WriteString("\n}\n")
	return nil
}

// enlargeStacks lets the copies of an op share its stack, as the layers of a model do.
func enlargeStacks(text []byte, w *bufio.Writer, copies int) error {
	var stacks map[string][2][]string
	if err := json.Unmarshal(text, &stacks); err != nil {
		return err
	}
	for number, stack := range stacks {
		recorded := stack[0]
		for i := 1; i < copies; i++ {
			for _, name := range recorded {
				stack[0] = append(stack[0], renamed(name, i))
			}
		}
		stacks[number] = stack
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(stacks)
}

// readDump is the messages that the producer makes of a dump.
func readDump(ctx context.Context, path string) ([]schemas.Message, error) {
	found, err := msprobe.Find(path)
	if err != nil {
		return nil, err
	}
	var messages []schemas.Message
	for _, dump := range found.Dumps {
		source, err := msprobe.Open(dump, msprobe.DefaultOptions("bench"))
		if err != nil {
			return nil, err
		}
		for m, err := range source.Batches(ctx) {
			if err != nil {
				return nil, err
			}
			messages = append(messages, m)
		}
	}
	return messages, nil
}
