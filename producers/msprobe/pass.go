package msprobe

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// pass reads the files of a dump one after another.
type pass struct {
	*reading
	source *Source
	bytes  int64 // read so far, for the progress
}

// open calls read with the named file's content, if the dump has that file.
func (p *pass) open(name string, read func(io.Reader) error) error {
	f, ok := p.source.file(name)
	if !ok {
		return nil
	}
	input, err := os.Open(filepath.Join(p.dir, name))
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // only read
	return read(&progress{Reader: io.LimitReader(input, f.size), pass: p})
}

// progress reports what was read of a file.
type progress struct {
	io.Reader
	pass *pass
}

// Read implements io.Reader.
func (r *progress) Read(to []byte) (int, error) {
	if ended := r.pass.ended; ended != nil {
		if err := ended(); err != nil {
			return 0, err
		}
	}
	n, err := r.Reader.Read(to)
	r.pass.bytes += int64(n)
	if report := r.pass.source.opt.Progress; report != nil && n > 0 {
		report(min(r.pass.bytes, r.pass.source.bytes))
	}
	return n, err
}

// soft turns damage in a file that only describes ops into a problem: its readable beginning is kept.
func (p *pass) soft(name string, scan *scanner, err error) error {
	if err == nil {
		_, err = scan.next()
	}
	if err == nil || !damaged(err) {
		return err
	}
	text, at := what(err, scan.offset())
	p.problem(Problem{What: text, File: name, Offset: at})
	return nil
}

func (p *pass) stacks() error {
	return p.open(stackFile, func(input io.Reader) error {
		scan := newScanner(input)
		s := &stackReader{reading: p.reading, scan: scan, texts: newNames(maxFrameBytes), known: make(map[uint64]bool)}
		return p.soft(stackFile, scan, s.read())
	})
}

func (p *pass) parents() error {
	return p.open(constructFile, func(input io.Reader) error {
		scan := newScanner(input)
		c := &constructReader{reading: p.reading, scan: scan, each: p.link}
		return p.soft(constructFile, scan, c.read())
	})
}

func (p *pass) dump() error {
	return p.open(dumpFile, func(input io.Reader) error {
		scan := newScanner(input)
		d := &dumpReader{reading: p.reading, scan: scan, values: newValues(scan), file: dumpFile}
		err := d.read()
		p.source.header = d.header
		return err
	})
}

func (p *pass) debug() error {
	return p.open(debugFile, func(input io.Reader) error {
		scan := newScanner(input)
		d := &dumpReader{reading: p.reading, scan: scan, values: newValues(scan), file: debugFile, debug: true}
		return d.read()
	})
}

func (p *pass) errors() error { return p.open(errorLogFile, p.readErrorLog) }

// structure takes the ops from construct.json where dump.json holds none by intention.
func (p *pass) structure() error {
	if p.opCount > 0 || p.source.header.Task != "structure" {
		return nil
	}
	return p.again(p.reading.structure)
}

// strangers describes the parents that did not run themselves.
func (p *pass) strangers() error {
	missing := p.graph.strangers()
	if len(missing) == 0 {
		return nil
	}
	return p.again(p.describe(missing))
}

// again reads construct.json once more, damage being known from the first time.
func (p *pass) again(each func(op, parent []byte, microStep uint16) error) error {
	return p.open(constructFile, func(input io.Reader) error {
		c := &constructReader{reading: p.reading, scan: newScanner(input), each: each}
		err := c.read()
		if err != nil && !damaged(err) && !errors.Is(err, io.EOF) {
			return err
		}
		return nil
	})
}
