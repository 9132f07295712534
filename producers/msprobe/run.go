package msprobe

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/tensortap/tensortap/schemas"
)

// RunRow describes a run by its first readable dump.
func RunRow(found Found, name string, labels map[string]string) schemas.RunRow {
	row := schemas.RunRow{
		RunID: schemas.RunID(name), Name: name, Source: schemas.SourceMsprobe, Labels: labels, EventTimeSource: "file",
	}
	for i, d := range found.Dumps {
		if i == 0 || d.ModTimeNs < row.FirstEventTimeNs {
			row.FirstEventTimeNs = d.ModTimeNs
		}
	}
	for _, d := range found.Dumps {
		header, err := readHeader(d.Dir)
		if err == nil {
			row.Framework, row.Level, row.Task = header.Framework, header.Level, header.Task
			break
		}
	}
	row.Epoch = schemas.DescriptionID(row)
	return row
}

// RunMessage packs the row as a message of its own. The same description of another time is another message, as others
// may have come between.
func RunMessage(row *schemas.RunRow) (schemas.Message, error) {
	rows := schemas.NewBuilder[schemas.RunRow]()
	rows.Append(row)
	id := schemas.Identity{RunID: row.RunID, Epoch: row.Epoch, Batch: uint64(row.FirstEventTimeNs)} //nolint:gosec // any number that is another at another time
	message, err := rows.Message(id)
	if err != nil {
		return schemas.Message{}, fmt.Errorf("describe run %s: %w", row.Name, err)
	}
	return message, nil
}

// headerBytes is the length of a file's beginning in which its header is looked for.
const headerBytes = 256 << 10

// readHeader reads the members of dump.json that stand around its ops.
func readHeader(dir string) (Header, error) {
	name := dumpFile
	input, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		name = debugFile
		if input, err = os.Open(filepath.Join(dir, name)); err != nil {
			return Header{}, err
		}
	}
	defer input.Close() //nolint:errcheck // only read
	head, err := io.ReadAll(io.LimitReader(input, headerBytes))
	if err != nil {
		return Header{}, fmt.Errorf("read %s: %w", name, err)
	}
	header, err := parseHeader(newScanner(io.MultiReader(bytes.NewReader(head), input)))
	if err != nil && header == (Header{}) {
		return header, fmt.Errorf("read %s: %w", name, err)
	}
	header.guess(head)
	return header, nil
}

// parseHeader reads the texts of the top object, those behind the ops only when none stood before them.
func parseHeader(scan *scanner) (Header, error) {
	var header Header
	t, err := scan.next()
	for err == nil && t != tokenEnd {
		if t, err = scan.next(); err != nil || t != tokenKey {
			continue
		}
		key := string(scan.unescape(nil))
		if t, err = scan.next(); err != nil {
			break
		}
		if t == tokenString {
			header.set(key, string(scan.unescape(nil)))
			continue
		}
		if key == "data" && header.Task != "" {
			return header, nil
		}
		err = scan.skip(t)
	}
	return header, err
}

// guess fills in fields that old files lack, and the kind of digests in a dump of statistics.
func (h *Header) guess(head []byte) {
	if h.Framework == "" {
		h.Framework = "pytorch"
		for _, word := range []string{`"mindspore.`, `"Cell.`, `"Primitive.`, `"Mint.`} {
			if bytes.Contains(head, []byte(word)) {
				h.Framework = "mindspore"
			}
		}
	}
	if _, digest, found := bytes.Cut(head, []byte(`"md5":`)); found && h.Task == "statistics" {
		h.Task = "md5"
		if strings.HasPrefix(strings.TrimSpace(view(digest[:min(len(digest), 8)])), `"0x`) {
			h.Task = "xor"
		}
	}
}
