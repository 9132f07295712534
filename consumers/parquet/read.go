package parquet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"slices"
	"strings"

	pq "github.com/parquet-go/parquet-go"

	"github.com/tensortap/tensortap/schemas"
)

// Messages reads the archive back as its original messages, with their identities, so that tables
// can be filled again when the stream no longer has them. Without kinds it reads all. The rows are
// the same; the bytes of a message may differ from the original. It ends after an error. Writing
// may go on meanwhile. No command uses it yet: tests prove by it that the archive has all published
// rows.
func (w *Writer) Messages(ctx context.Context, kinds ...string) iter.Seq2[schemas.Message, error] {
	return func(yield func(schemas.Message, error) bool) {
		entries, err := w.entries()
		if err != nil {
			yield(schemas.Message{}, err)
			return
		}
		for _, e := range entries {
			if len(kinds) > 0 && !slices.Contains(kinds, e.Kind) {
				continue
			}
			err := w.readFile(ctx, e, func(m schemas.Message) bool { return yield(m, nil) })
			if errors.Is(err, errStop) {
				return
			}
			if err != nil {
				yield(schemas.Message{}, fmt.Errorf("read %s: %w", e.File, err))
				return
			}
		}
	}
}

// errStop says that the reader of messages wants no more: reading ends without an error.
var errStop = errors.New("no more messages wanted")

func (w *Writer) readFile(ctx context.Context, e entry, yield func(schemas.Message) bool) error {
	read, known := readers()[e.Kind]
	if !known {
		return fmt.Errorf("unknown kind %s", e.Kind)
	}
	f, err := os.Open(w.path(e.File))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	file, err := pq.OpenFile(f, e.Size, pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	return read(ctx, file, uint64(e.Run), yield)
}

type reader func(ctx context.Context, file *pq.File, run uint64, yield func(schemas.Message) bool) error

// readers has one entry per row type of package schemas.
func readers() map[string]reader {
	return map[string]reader{
		schemas.Run().Kind():          readMessages[schemas.RunRow],
		schemas.Rank().Kind():         readMessages[schemas.RankRow],
		schemas.Op().Kind():           readMessages[schemas.OpRow],
		schemas.Site().Kind():         readMessages[schemas.SiteRow],
		schemas.Layout().Kind():       readMessages[schemas.LayoutRow],
		schemas.Stack().Kind():        readMessages[schemas.StackRow],
		schemas.Program().Kind():      readMessages[schemas.ProgramRow],
		schemas.ProgramStack().Kind(): readMessages[schemas.ProgramStackRow],
		schemas.Step().Kind():         readMessages[schemas.StepRow],
		schemas.Tensor().Kind():       readMessages[schemas.TensorRow],
		schemas.Payload().Kind():      readMessages[schemas.PayloadRow],
		schemas.DeadLetter().Kind():   readMessages[schemas.DeadLetterRow],

		schemas.Alignment().Kind():      readMessages[schemas.AlignmentRow],
		schemas.PayloadError().Kind():   readMessages[schemas.PayloadErrorRow],
		schemas.Comparison().Kind():     readMessages[schemas.ComparisonRow],
		schemas.Finding().Kind():        readMessages[schemas.FindingRow],
		schemas.KnownException().Kind(): readMessages[schemas.KnownExceptionRow],

		schemas.Memory().Kind():             readMessages[schemas.MemoryRow],
		schemas.Failure().Kind():            readMessages[schemas.FailureRow],
		schemas.Unseen().Kind():             readMessages[schemas.UnseenRow],
		schemas.Heartbeat().Kind():          readMessages[schemas.HeartbeatRow],
		schemas.Request().Kind():            readMessages[schemas.RequestRow],
		schemas.Signature().Kind():          readMessages[schemas.SignatureRow],
		schemas.Tally().Kind():              readMessages[schemas.TallyRow],
		schemas.Call().Kind():               readMessages[schemas.CallRow],
		schemas.DeclaredComparison().Kind(): readMessages[schemas.DeclaredComparisonRow],
		schemas.Verdict().Kind():            readMessages[schemas.VerdictRow],
		schemas.JudgedStep().Kind():         readMessages[schemas.JudgedStepRow],
		schemas.LayerError().Kind():         readMessages[schemas.LayerErrorRow],
		schemas.Origin().Kind():             readMessages[schemas.OriginRow],
		schemas.Baseline().Kind():           readMessages[schemas.BaselineRow],
	}
}

func readMessages[R any, P schemas.Row[R]](ctx context.Context, file *pq.File, run uint64, yield func(schemas.Message) bool) error {
	batches, err := readBatches(file)
	if err != nil {
		return err
	}
	rows := pq.NewGenericReader[R](file)
	builder := schemas.NewBuilder[R, P]()
	for _, b := range batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := readRows(rows, builder, b.Rows); err != nil {
			return errors.Join(err, rows.Close())
		}
		m, err := builder.Message(b.identity(run))
		if err != nil {
			return errors.Join(err, rows.Close())
		}
		if !yield(m) {
			return errors.Join(errStop, rows.Close())
		}
	}
	return rows.Close()
}

func readRows[R any, P schemas.Row[R]](from *pq.GenericReader[R], to *schemas.Builder[R, P], count int) error {
	rows := make([]R, min(count, 1024))
	for count > 0 {
		n, err := from.Read(rows[:min(count, len(rows))])
		for i := range rows[:n] {
			to.Append(&rows[i])
		}
		count -= n
		if err != nil && (count > 0 || !errors.Is(err, io.EOF)) {
			return fmt.Errorf("read rows, %d to go: %w", count, err)
		}
		clear(rows) // the next rows must not write into lists of these
	}
	return nil
}

// readBatches is the list of messages that a file holds, from its own metadata.
func readBatches(file *pq.File) ([]batch, error) {
	text, ok := file.Lookup(batchesKey)
	if !ok {
		return nil, fmt.Errorf("read batches: no %s in its metadata", batchesKey)
	}
	var batches []batch
	if err := json.Unmarshal([]byte(text), &batches); err != nil {
		return nil, fmt.Errorf("read batches: %w", err)
	}
	return batches, nil
}

// placeOf is the kind and run that the folders of a file name.
func placeOf(name string) (kind string, run uint64, ok bool) {
	folder, runText, _ := strings.Cut(path.Dir(name), "/run=")
	kind, ok = strings.CutPrefix(folder, "event=")
	run, err := schemas.ParseID(runText)
	return kind, run, ok && err == nil
}

// untilDone reads until its context ends.
type untilDone struct {
	ctx  context.Context //nolint:containedctx // io.Copy takes none
	from io.Reader
}

// Read implements io.Reader.
func (u untilDone) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.from.Read(b)
}
