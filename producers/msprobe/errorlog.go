package msprobe

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// maxLogLine bounds a line of dump_error_info.log; the rest of a longer one is passed over.
const maxLogLine = 64 << 10

// readErrorLog counts the blocks of dump_error_info.log. Each stands for an error that cost at least one op, which
// dump.json lacks; msProbe writes one block per kind of error.
func (r *reading) readErrorLog(input io.Reader) error {
	lines := bufio.NewReaderSize(input, maxLogLine)
	for {
		line, more, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if message, ok := logMessage(string(line)); ok {
			r.dropped("msprobe reported: " + clip(message, 1<<10))
		}
		for more && err == nil {
			_, more, err = lines.ReadLine()
		}
	}
}

// logMessage is the text behind the time that opens a block: [2026-01-31 12:00:00 +0800] message.
func logMessage(line string) (string, bool) {
	const layout = "[2006-01-02 15:04:05"
	if len(line) < len(layout) || line[0] != '[' {
		return "", false
	}
	for i := 1; i < len(layout); i++ {
		digit := line[i] >= '0' && line[i] <= '9'
		if (layout[i] >= '0' && layout[i] <= '9') != digit || !digit && line[i] != layout[i] {
			return "", false
		}
	}
	_, message, ok := strings.Cut(line, "]")
	return strings.ToValidUTF8(strings.TrimSpace(message), "\uFFFD"), ok
}
