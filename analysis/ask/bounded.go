package ask

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/consumers/clickhouse"
)

// ErrTooLong says that an answer has more bytes than it may have; who asked is told to ask for less.
var ErrTooLong = errors.New("the answer is too long")

// WriteAtMost is Write for a query of somebody's own: the answer has the first rows alone, whatever the query sets, and
// ends with ErrTooLong where it has more bytes.
func (d *Door) WriteAtMost(ctx context.Context, to io.Writer, style report.Style, most int64, query string) error {
	asked := report.ArrowStream
	if style.Format == report.Parquet {
		asked = report.Parquet
	}
	answer, err := clickhouse.QueryFirst(ctx, d.database, style.Limit, query, nil, asked.ClickHouse())
	if err != nil {
		return d.nameMalformed(ctx, err)
	}
	bounded := &atMost{from: answer, left: most, most: most}
	if style.Format == report.Parquet {
		err = report.Write(to, style, bounded)
	} else {
		err = report.WriteFirst(to, style, bounded)
	}
	return d.nameMalformed(ctx, errors.Join(err, answer.Close()))
}

// ReadsOnly says whether the database lets this door's user change nothing.
func (d *Door) ReadsOnly(ctx context.Context) (bool, error) {
	table, err := d.Table(ctx, "SELECT toString(getSetting('readonly')) AS is", nil)
	if err != nil {
		return false, err
	}
	return table.Get(0, "is").Exact == "1", nil
}

// atMost reads so many bytes, and then fails.
type atMost struct {
	from       io.Reader
	left, most int64
}

// Read implements io.Reader.
func (r *atMost) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, fmt.Errorf("%w: more than %d bytes", ErrTooLong, r.most)
	}
	n, err := r.from.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}
