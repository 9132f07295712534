package parquet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	pq "github.com/parquet-go/parquet-go"

	"github.com/tensortap/tensortap/schemas"
)

// folder is the folder of an archive.
type folder string

func (a folder) path(name string) string { return filepath.Join(string(a), filepath.FromSlash(name)) }

// Saved reads the archive in a folder back as its original messages, with their identities, so that a
// stream and tables can be made of it alone. Without kinds it reads all. The rows are the same; the
// bytes of a message may differ from the original. An error names a file that is not as it was
// written: Saved leaves that file out and goes on with the next. It changes nothing in the folder.
// A Writer may write there meanwhile.
func Saved(ctx context.Context, dir string, kinds ...string) iter.Seq2[schemas.Message, error] {
	return func(yield func(schemas.Message, error) bool) {
		a := folder(dir)
		files, err := a.saved()
		if err != nil {
			yield(schemas.Message{}, fmt.Errorf("read archive %s: %w", dir, err))
			return
		}
		for _, e := range files {
			if len(kinds) > 0 && !slices.Contains(kinds, e.Kind) {
				continue
			}
			err := a.checkSaved(ctx, &e)
			if err == nil {
				err = a.readFile(ctx, e, func(m schemas.Message) bool { return yield(m, nil) })
			}
			if errors.Is(err, errStop) || err != nil && !yield(schemas.Message{}, fmt.Errorf("read %s: %w", a.path(e.File), err)) {
				return
			}
		}
	}
}

// saved are the files of the archive in the order in which they were written, those without a line of the manifest too.
func (a folder) saved() ([]entry, error) {
	text, err := os.ReadFile(a.path("manifest"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines, _ := parseLines(text)
	now := current(lines)
	listed := now.files
	names, listErr := a.names()
	if listErr != nil {
		return nil, listErr
	}
	for _, name := range names {
		if kind, run, ok := placeOf(name); ok && listed[name].File == "" && !now.deletes(name) {
			listed[name] = entry{File: name, Kind: kind, Run: id(run)}
		}
	}
	if err != nil && len(names) == 0 {
		return nil, errors.New("it has neither a manifest nor files event=…/run=…/….parquet")
	}
	return oldestFirst(listed), nil
}

func oldestFirst(files map[string]entry) []entry {
	return slices.SortedFunc(maps.Values(files), func(a, b entry) int {
		return cmp.Or(strings.Compare(path.Base(a.File), path.Base(b.File)), strings.Compare(a.File, b.File))
	})
}

func (a folder) names() ([]string, error) {
	var names []string
	err := fs.WalkDir(os.DirFS(string(a)), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("list files: %w", err)
		}
		if place, _ := path.Match("event=*/run=*/*", name); place {
			names = append(names, name)
		}
		if below := name == "." || strings.HasPrefix(name, "event="); entry.IsDir() && !below {
			return fs.SkipDir
		}
		return nil
	})
	return names, err
}

// checkSaved holds a file against its line, or describes it where it has none.
func (a folder) checkSaved(ctx context.Context, e *entry) error {
	if e.Size == 0 {
		return a.describe(ctx, e)
	}
	return a.checkAll(ctx, *e)
}

// errStop says that the reader of messages wants no more: reading ends without an error.
var errStop = errors.New("no more messages wanted")

func (a folder) readFile(ctx context.Context, e entry, yield func(schemas.Message) bool) error {
	read, known := readers()[e.Kind]
	if !known {
		return fmt.Errorf("unknown kind %s", e.Kind)
	}
	f, err := os.Open(a.path(e.File))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	file, err := openSound(f, e.Size)
	if err != nil {
		return err
	}
	return read(ctx, file, uint64(e.Run), yield)
}

// openSound reads the footer of a file, for which parquet-go takes as much memory as the file's end claims.
func openSound(f *os.File, size int64) (file *pq.File, err error) {
	footer, err := footerBytes(f.Name(), size)
	if err == nil && int64(footer) > size-8 {
		err = fmt.Errorf("read footer of %s: %d bytes in a file of %d", f.Name(), footer, size)
	}
	if err != nil {
		return nil, err
	}
	err = sound(func() error {
		file, err = pq.OpenFile(f, size, pq.SkipPageIndex(true), pq.SkipBloomFilters(true))
		return err
	})
	return file, err
}

// sound makes an error of what parquet-go ends with on bytes that are no Parquet.
func sound(read func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read Parquet: %v", r)
		}
	}()
	return read()
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
		schemas.Collective().Kind():         readMessages[schemas.CollectiveRow],
		schemas.Log().Kind():                readMessages[schemas.LogRow],
		schemas.Metric().Kind():             readMessages[schemas.MetricRow],
		schemas.Allocation().Kind():         readMessages[schemas.AllocationRow],
		schemas.RequestEvent().Kind():       readMessages[schemas.RequestEventRow],
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
		schemas.Alert().Kind():              readMessages[schemas.AlertRow],
		schemas.Audit().Kind():              readMessages[schemas.AuditRow],
		schemas.Token().Kind():              readMessages[schemas.TokenRow],
		schemas.Weight().Kind():             readMessages[schemas.WeightRow],
		schemas.TokenSite().Kind():          readMessages[schemas.TokenSiteRow],
	}
}

func readMessages[R any, P schemas.Row[R]](ctx context.Context, file *pq.File, run uint64, yield func(schemas.Message) bool) error {
	batches, err := readBatches(file)
	if err != nil {
		return err
	}
	var rows *pq.GenericReader[R]
	if err := sound(func() error { rows = pq.NewGenericReader[R](file); return nil }); err != nil {
		return err
	}
	builder := schemas.NewBuilder[R, P]()
	for _, b := range batches {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := readRows(rows, builder, b.Rows); err != nil {
			return errors.Join(err, rows.Close())
		}
		m, err := builder.Kept(b.identity(run))
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
		n := 0
		err := sound(func() (err error) { n, err = from.Read(rows[:min(count, len(rows))]); return err })
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
	left := file.NumRows()
	for _, b := range batches {
		if b.Rows < 1 || b.Rows > schemas.MaxMessageRows || int64(b.Rows) > left {
			return nil, fmt.Errorf("read batches: one has %d rows, want 1 to %d, and %d are left", b.Rows, schemas.MaxMessageRows, left)
		}
		left -= int64(b.Rows)
	}
	if left != 0 {
		return nil, fmt.Errorf("read batches: %d rows are of none", left)
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
