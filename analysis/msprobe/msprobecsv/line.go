package msprobecsv

import (
	"bufio"
	"strings"
)

// writeLine quotes as Python's csv module does, which, unlike Go's, lets a
// leading blank stand bare.
func writeLine(to *bufio.Writer, cells []string) error {
	for i, cell := range cells {
		if i > 0 {
			_ = to.WriteByte(',') // the error stays until the end
		}
		if strings.ContainsAny(cell, ",\"\r\n") {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		_, _ = to.WriteString(cell)
	}
	return to.WriteByte('\n')
}
