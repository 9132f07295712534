package logs

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Line is one line that a process has printed.
type Line struct {
	PID    int
	Stderr bool
	Time   time.Time // to a second
	Text   string    // without its end
}

// part is the output of a process from some time on, up to the next part of its file.
type part struct {
	launch   Launch
	file     file
	from, to int64
	at       time.Time
}

// Read visits all lines of a run, by time; lines of one process and stream come in their order.
func Read(run string, visit func(Line) error) error {
	launches, err := os.ReadDir(run)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("nothing is kept that this run printed: %w", err)
	}
	if err != nil {
		return err
	}
	for _, launch := range launches {
		if err := Launch(filepath.Join(run, launch.Name())).read(visit); err != nil {
			return err
		}
	}
	return nil
}

func (l Launch) read(visit func(Line) error) error {
	parts, err := l.parts()
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := p.read(visit); err != nil {
			return fmt.Errorf("read %s: %w", p.file.name, err)
		}
	}
	return nil
}

// parts are the parts of all files, by time.
func (l Launch) parts() ([]part, error) {
	files, err := l.files()
	if err != nil {
		return nil, err
	}
	marks, err := l.marks()
	if err != nil {
		return nil, err
	}
	var parts []part
	for _, one := range files {
		info, err := os.Stat(filepath.Join(string(l), one.name))
		if err != nil {
			return nil, err
		}
		of := marks[one.name]
		if len(of) == 0 { // nobody read it while it was written
			of = []part{{at: info.ModTime()}}
		}
		if err := l.shift(one, of, info.Size()); err != nil {
			return nil, err
		}
		for i, p := range of {
			p.launch, p.file, p.to = l, one, info.Size()
			if i+1 < len(of) {
				p.to = of[i+1].from
			}
			parts = append(parts, p)
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return a.at.Compare(b.at) })
	return parts, nil
}

// shift moves the beginning of parts out of what is not kept, so that one part alone tells of it.
func (l Launch) shift(one file, parts []part, size int64) error {
	from, err := l.open(one)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // only read
	for i := 1; i < len(parts); i++ {
		parts[i].from, _ = extent(from, parts[i].from, size)
	}
	return nil
}

// marks are where parts of each file begin, and when they were printed.
func (l Launch) marks() (map[string][]part, error) {
	text, err := os.ReadFile(filepath.Join(string(l), timesName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	marks := map[string][]part{}
	for line := range strings.Lines(string(text)) {
		var (
			name    string
			p       part
			printed int64
		)
		if _, err := fmt.Sscan(line, &name, &p.from, &printed); err != nil {
			continue // the last one, cut by a kill
		}
		p.at = time.Unix(0, printed)
		marks[name] = append(marks[name], p)
	}
	for _, of := range marks {
		slices.SortFunc(of, func(a, b part) int { return cmp.Compare(a.from, b.from) })
	}
	return marks, nil
}

func (p part) read(visit func(Line) error) error {
	from, err := os.Open(filepath.Join(string(p.launch), p.file.name))
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // only read
	line := Line{PID: p.file.pid, Stderr: p.file.stderr, Time: p.at}
	for at := p.from; at < p.to; {
		data, hole := extent(from, at, p.to)
		if data > at {
			line.Text = fmt.Sprintf("(%d bytes were not kept)", data-at)
			if err := visit(line); err != nil {
				return err
			}
		}
		if err := line.visit(io.NewSectionReader(from, data, hole-data), visit); err != nil {
			return err
		}
		at = hole
	}
	return nil
}

// extent returns the next kept bytes from that place on, and where they end.
func extent(from *os.File, at, end int64) (data, hole int64) {
	data, err := unix.Seek(int(from.Fd()), at, unix.SEEK_DATA) //nolint:gosec // small
	if err != nil || data > end {
		if errors.Is(err, unix.ENXIO) || data > end { // none are
			return end, end
		}
		return at, end // a file system that knows of no holes
	}
	hole, err = unix.Seek(int(from.Fd()), data, unix.SEEK_HOLE) //nolint:gosec // small
	if err != nil || hole > end {
		hole = end
	}
	return data, hole
}

// visit visits the lines of a text, endless lines in pieces.
func (line Line) visit(text io.Reader, visit func(Line) error) error {
	lines := bufio.NewReaderSize(text, pieceBytes)
	for {
		bytes, _, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line.Text = string(bytes)
		if err := visit(line); err != nil {
			return err
		}
	}
}
