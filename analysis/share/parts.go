package share

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// parts are the answers, each compressed.
type parts struct {
	all  [][]byte
	size int // bytes of all
}

// add compresses a part, and returns its number.
func (p *parts) add(content []byte) (int, error) {
	var to bytes.Buffer
	w := gzip.NewWriter(&to)
	_, err := w.Write(content)
	if err := errors.Join(err, w.Close()); err != nil {
		return 0, err
	}
	p.all = append(p.all, to.Bytes())
	p.size += to.Len()
	return len(p.all) - 1, nil
}

// writeTo writes the page with index and parts in it. Neither can end the element that it is in: parts are base64, and
// encoding/json writes no angle bracket.
func (w *writer) writeTo(to io.Writer, before, after []byte) error {
	text, err := json.Marshal(w.index)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(to)
	_, _ = buffered.Write(before) // the error stays until Flush
	_, _ = fmt.Fprintf(buffered, "<script type=\"application/json\" id=\"index\">%s</script>\n", text)
	for i, part := range w.parts.all {
		_, _ = fmt.Fprintf(buffered, "<script type=\"text/plain\" id=\"part-%d\">%s</script>\n", i, base64.StdEncoding.EncodeToString(part))
	}
	_, _ = buffered.Write(after)
	return buffered.Flush()
}
