package msprobe

import (
	"bytes"
	"io"

	"github.com/tensortap/tensortap/schemas"
)

// session is shared by several readings, one after the other: memory, and the definitions already
// handed over.
type session struct {
	scan   *scanner
	values *values // of the ops of all dumps; nil where each file has its own
	frames *names
	stacks map[uint64]bool // that were handed over
	graph  *graph
	ops    *catalogue  // nil where the ops of each dump are described anew
	links  *remembered // nil where only one dump is read
}

// newSession is for one reading.
func newSession() *session {
	return &session{
		scan: newScanner(nil), frames: newNames(maxFrameBytes), stacks: map[uint64]bool{},
		graph: newGraph(),
	}
}

// newLongSession is for the readings of several dumps of a run.
func newLongSession() *session {
	s := newSession()
	s.values = newValues(s.scan)
	s.ops = newCatalogue()
	s.links = newRemembered()
	return s
}

// scanner reads a file. Only one is read at a time.
func (s *session) scanner(input io.Reader) *scanner {
	s.scan.reset(input)
	return s.scan
}

// valuesOf receives the values of a file's ops.
func (s *session) valuesOf(scan *scanner) *values {
	if s.values == nil {
		return newValues(scan)
	}
	s.values.bodies.rewind()
	return s.values
}

// maxRememberedBytes bounds a file whose text is kept.
const maxRememberedBytes = 8 << 20

// remembered is the content of the files of a dump that link its ops. These are mostly equal in all steps and ranks,
// and then are not read again.
type remembered struct {
	texts, before map[string]*bytes.Buffer // of the files that are there
	clean         bool                     // the files of before were read without a problem
}

func newRemembered() *remembered {
	r := &remembered{texts: map[string]*bytes.Buffer{}, before: map[string]*bytes.Buffer{}}
	for _, name := range linkFiles() {
		r.texts[name], r.before[name] = &bytes.Buffer{}, &bytes.Buffer{}
	}
	return r
}

func linkFiles() []string { return []string{stackFile, constructFile} }

// load reads the files into memory, unless one is too large for that, and says whether they are equal to the
// last ones.
func (r *remembered) load(p *pass) (again bool, err error) {
	r.texts, r.before = r.before, r.texts
	again, r.clean = r.clean, true
	for _, name := range linkFiles() {
		f, _ := p.source.file(name)
		text := r.texts[name]
		text.Reset()
		if f.size > maxRememberedBytes {
			r.clean, again = false, false
			continue
		}
		if err := p.open(name, func(input io.Reader) error { _, err := text.ReadFrom(input); return err }); err != nil {
			return false, err
		}
		again = again && bytes.Equal(text.Bytes(), r.before[name].Bytes())
	}
	return again, nil
}

// catalogue is the ops that were described so far, by name.
type catalogue struct {
	known map[string]*op
	last  *op
}

// op is an op with the sites of its values, in their order.
type op struct {
	row   schemas.OpRow
	told  bool // its row was handed over
	sites []site
	next  *op // that followed when it was last met
}

type site struct {
	id   uint64
	path string
	role role
}

func newCatalogue() *catalogue {
	return &catalogue{known: map[string]*op{}, last: &op{}}
}

// get is the op of that name; mostly it is the successor of the last one.
func (c *catalogue) get(name []byte) *op {
	found := c.last.next
	if found == nil || found.row.Name != string(name) {
		if found = c.known[string(name)]; found == nil {
			found = &op{row: schemas.ParseOpName(string(name))}
			c.known[found.row.Name] = found
		}
		c.last.next = found
	}
	c.last = found
	return found
}

// site is the id of the value's site, and whether it was handed over before.
func (o *op) site(at int, v *value) (id uint64, known bool) {
	if at < len(o.sites) && o.sites[at].role == v.role && o.sites[at].path == v.path {
		return o.sites[at].id, true
	}
	id = schemas.SiteID(o.row.OpID, v.role.String(), v.path)
	if at == len(o.sites) {
		o.sites = append(o.sites, site{id, v.path, v.role})
	}
	return id, false
}
