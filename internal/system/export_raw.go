package system

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/tensortap/tensortap/analysis/msprobe/msprobedump"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/torchfile"
)

func (e *exporting) findRaw() (err error) {
	if e.request.Payloads != "" {
		e.kept, err = findKept(e.request.Payloads)
	}
	return err
}

// readRaw reads where the raw tensors of a step lie, by site.
func (e *exporting) readRaw(ctx context.Context, s exportedStep) (map[uint64]string, error) {
	found := map[uint64]string{}
	if e.request.Payloads == "" {
		return found, nil
	}
	const query = `SELECT site_id, min(location) FROM tap_store.payload
WHERE run_id = {run_id:UInt64} AND rank = {rank_of_step:UInt32} AND step = {step:UInt32} AND epoch = {epoch:UInt64}
GROUP BY site_id`
	err := e.each(ctx, "the raw tensors", query, func(scan func(...any) error) error {
		var site uint64
		var location string
		err := scan(&site, &location)
		found[site] = location
		return err
	}, [2]string{"rank_of_step", fmt.Sprint(s.rank)}, [2]string{"step", fmt.Sprint(s.step)}, [2]string{"epoch", fmt.Sprint(s.epoch)})
	return found, err
}

// rawWriter writes the raw tensors of one dump in msProbe's names. One that cannot be read is left out, and told.
type rawWriter struct {
	exporting *exporting
	at        rows.Place
	dump      *msprobedump.Dump
	locations map[uint64]string
}

// write writes them into a new folder, and says in the dump where each is.
func (w *rawWriter) write(dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil { //nolint:gosec // the user's umask decides
		return fmt.Errorf("make the folder of raw tensors: %w", err)
	}
	for i := range w.dump.Ops {
		o := &w.dump.Ops[i]
		for j := range o.Values {
			if err := w.value(dir, o, &o.Values[j]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *rawWriter) value(dir string, o *msprobedump.Op, v *msprobedump.Value) error {
	location, kept := w.locations[v.Row.SiteID]
	if !kept {
		return nil
	}
	file, tensor, err := w.open(location)
	if err != nil {
		w.exporting.unreadable(fmt.Sprintf("step %d rank %d: %s: %v", w.at.Step, w.at.Rank, location, err))
		return nil
	}
	defer file.Close() //nolint:errcheck // only read
	name := v.FileName(o)
	if err := saveTensor(filepath.Join(dir, name), tensor); err != nil {
		return fmt.Errorf("write the raw tensor %s: %w", name, err)
	}
	v.DataName = name
	w.exporting.result.Raw++
	return nil
}

func (w *rawWriter) open(location string) (*os.File, *torchfile.Tensor, error) {
	file, err := w.exporting.kept.open(w.at, location)
	if err != nil {
		return nil, nil, err
	}
	tensor, err := readTensor(file)
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, tensor, nil
}

// saveTensor writes a new file: two tensors of one name would make a wrong one.
func saveTensor(path string, tensor *torchfile.Tensor) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // the user's umask decides
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(file, 1<<20)
	err = torchfile.Save(buffered, tensor, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	return errors.Join(err, buffered.Flush(), file.Close())
}

func (e *exporting) unreadable(problem string) {
	e.result.Unreadable++
	if len(e.result.Problems) < mostPayloadProblems {
		e.result.Problems = append(e.result.Problems, shortened(problem))
	}
}
