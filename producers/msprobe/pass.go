package msprobe

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// pass reads the files of a dump one after another.
type pass struct {
	*reading
	source  *Source
	session *session
	bytes   int64 // read so far, for the progress
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

// progress reports the bytes read of a file.
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

// links reads how the ops hang together, where that is another than in the dump before.
func (p *pass) links() error {
	if p.session.links == nil {
		return firstPart(p.stacks, p.parents)
	}
	again, err := p.session.links.load(p)
	if err != nil {
		return err
	}
	if again {
		p.graph.rewind()
		return nil
	}
	p.graph.clear()
	before := p.source.problems.Count
	err = firstPart(p.stacks, p.parents)
	p.session.links.clean = p.session.links.clean && err == nil && p.source.problems.Count == before
	return err
}

// openLink is open, from memory where the file's text is there.
func (p *pass) openLink(name string, read func(io.Reader) error) error {
	if links := p.session.links; links != nil {
		if text := links.texts[name].Bytes(); len(text) > 0 {
			return read(bytes.NewReader(text))
		}
	}
	return p.open(name, read)
}

func (p *pass) stacks() error {
	return p.openLink(stackFile, func(input io.Reader) error {
		scan := p.session.scanner(input)
		s := &stackReader{reading: p.reading, scan: scan, texts: p.session.frames, known: p.session.stacks}
		return p.soft(stackFile, scan, s.read())
	})
}

func (p *pass) parents() error {
	return p.openLink(constructFile, func(input io.Reader) error {
		scan := p.session.scanner(input)
		c := &constructReader{reading: p.reading, scan: scan, each: p.link}
		return p.soft(constructFile, scan, c.read())
	})
}

func (p *pass) dump() error {
	return p.open(dumpFile, func(input io.Reader) error {
		d := p.dumpReader(input, dumpFile)
		err := d.read()
		p.source.header = d.header
		return err
	})
}

func (p *pass) debug() error {
	return p.open(debugFile, func(input io.Reader) error {
		d := p.dumpReader(input, debugFile)
		d.debug = true
		return d.read()
	})
}

func (p *pass) dumpReader(input io.Reader, file string) *dumpReader {
	scan := p.session.scanner(input)
	return &dumpReader{reading: p.reading, scan: scan, values: p.session.valuesOf(scan), file: file, ops: p.session.ops}
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
	return p.openLink(constructFile, func(input io.Reader) error {
		c := &constructReader{reading: p.reading, scan: p.session.scanner(input), each: each}
		err := c.read()
		if err != nil && !damaged(err) && !errors.Is(err, io.EOF) {
			return err
		}
		return nil
	})
}
