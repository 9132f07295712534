package msprobe

import (
	"errors"

	"github.com/tensortap/tensortap/producers/internal/batch"
	"github.com/tensortap/tensortap/schemas"
)

// Header holds the fields of dump.json outside of its ops.
type Header struct {
	Task      string
	Level     string
	Framework string
	DataDir   string // folder of the saved tensors, as the host that wrote them named it; empty when none
}

// dumpReader turns the ops of dump.json or debug.json into rows.
type dumpReader struct {
	*reading
	scan   *scanner
	values *values
	file   string
	debug  bool       // entries are values, not sections
	ops    *catalogue // nil where ops are described anew
	one    op         // the last one, where there is no catalogue
	header Header
	indent int   // blanks before the last op's name
	last   int64 // offset of the last op's name
	name   []byte
	found  bool // the object of ops
	site   int  // of the op being written, how many went before
}

// read reads the document. It returns only errors that end the whole dump; damage becomes problems.
func (d *dumpReader) read() error {
	t, err := d.scan.next()
	if err == nil && t != tokenObject {
		err = &syntaxError{what: "no object at the top"}
	}
	if _, syntax := errors.AsType[*syntaxError](err); syntax {
		d.dropped("unreadable beginning")
		err = d.lost(err)
	}
	for err == nil && !d.cut {
		if t, err = d.scan.next(); err != nil || t == tokenEnd {
			break
		}
		if t == tokenKey {
			err = d.member()
		}
	}
	if err != nil && !damaged(err) {
		return err
	}
	return d.tail(err)
}

// tail judges how the document ended. Damage behind the ops costs nothing.
func (d *dumpReader) tail(err error) error {
	switch {
	case err != nil:
		text, at := what(err, d.scan.offset())
		d.problem(Problem{What: text, File: d.file, Offset: at})
		d.cut = d.cut || !d.found || errors.Is(err, errCut)
	case !d.found && !d.debug:
		d.problem(Problem{What: "no ops: there is no object named data", File: d.file, Offset: -1})
		d.cut = true
	}
	return d.scan.err
}

// member reads one member of the top object, whose key is the current token.
func (d *dumpReader) member() error {
	key := string(d.scan.unescape(nil))
	t, err := d.scan.next()
	if err != nil {
		return d.lost(err)
	}
	switch {
	case key == "data" && t == tokenObject:
		d.scan.opDepth = d.scan.depth
		return d.all()
	case d.debug && t == tokenObject && schemas.NamesAnOp(key):
		d.scan.opDepth = d.scan.depth - 1
		return d.op(d.named([]byte(key)), t)
	case t == tokenString:
		d.header.set(key, string(d.scan.unescape(nil)))
		return nil
	}
	return d.lost(d.scan.skip(t))
}

func (h *Header) set(key, text string) {
	switch key {
	case "task":
		h.Task = text
	case "level":
		h.Level = text
	case "framework":
		h.Framework = text
	case "dump_data_dir":
		h.DataDir = text
	}
}

// lost tries to go on behind damage outside of the ops: the ops may still follow.
func (d *dumpReader) lost(err error) error {
	if err == nil || !damaged(err) {
		return err
	}
	text, at := what(err, d.scan.offset())
	d.problem(Problem{What: text, File: d.file, Offset: at})
	d.scan.opDepth = 2
	if errors.Is(err, errCut) || !d.scan.resync(0, d.scan.offset()) {
		return d.cutShort()
	}
	return d.all()
}

// all reads the members of the object of ops up to its end.
func (d *dumpReader) all() error {
	d.found = true
	for {
		t, err := d.scan.next()
		if err != nil {
			if err = d.between(err); err != nil {
				return err
			}
			if d.cut {
				return nil
			}
			continue
		}
		if t == tokenObjectEnd {
			return nil
		}
		d.name = append(d.name[:0], d.scan.unescape(nil)...)
		if of := d.named(d.name); d.values.repeats(d.kind(of)) {
			err = d.commit(of, d.begin())
		} else if t, err = d.scan.next(); err == nil {
			err = d.op(of, t)
		} else {
			err = d.damage(err, string(d.name), d.scan.keyOffset)
		}
		if err != nil || d.cut {
			return err
		}
	}
}

// between deals with damage where an op's name or a comma had to stand. A missing comma costs nothing.
func (d *dumpReader) between(err error) error {
	offset := d.scan.offset()
	if !damaged(err) {
		return err
	}
	text, at := what(err, offset)
	d.problem(Problem{What: text, File: d.file, Offset: at})
	from := d.last + 1
	if d.scan.keyOpen {
		from, offset = d.scan.keyOffset+1, d.scan.keyOffset
		d.scan.keyOpen = false
	}
	d.last = max(d.last, from-1)
	if errors.Is(err, errCut) || !d.scan.resync(d.indent, from) {
		return d.cutShort()
	}
	if d.scan.offset() > offset {
		d.dropped("unreadable text between ops")
	}
	return nil
}

// named is the op of that name.
func (d *dumpReader) named(name []byte) *op {
	if d.ops != nil {
		return d.ops.get(name)
	}
	d.one = op{row: schemas.ParseOpName(string(name)), sites: d.one.sites[:0]}
	return &d.one
}

// begin notes the byte at which an op begins.
func (d *dumpReader) begin() int64 {
	d.last = d.scan.keyOffset
	if d.scan.keyIndent > 0 {
		d.indent = d.scan.keyIndent
	}
	return d.last
}

// op reads the op whose entry begins with t, and writes its rows.
func (d *dumpReader) op(of *op, t token) error {
	offset := d.begin()
	if d.scan.keyIndent > 0 {
		d.scan.minIndent = d.indent
	}
	err := d.entry(of, t)
	d.scan.minIndent = -1
	if err == nil && d.scan.overlong >= 0 {
		d.problem(Problem{What: "text longer than 1 MiB", File: d.file, Offset: d.scan.overlong, Op: of.row.Name})
		d.dropped("op with too long a text")
		d.scan.overlong = -1
		d.values.forgetFresh()
		return nil
	}
	if err != nil {
		d.values.forgetFresh()
		return d.damage(err, of.row.Name, offset)
	}
	d.values.learn(d.kind(of))
	return d.commit(of, offset)
}

// kind is the way to read the entry of the op.
func (d *dumpReader) kind(of *op) entryKind {
	switch {
	case d.debug:
		return savedEntry
	case of.row.Phase == schemas.PhaseGradient:
		return gradientEntry
	}
	return opEntry
}

func (d *dumpReader) entry(of *op, t token) error {
	d.values.recompute = false
	switch d.kind(of) {
	case savedEntry:
		return d.values.saved(t)
	case gradientEntry:
		return d.values.gradients(t)
	case opEntry:
	}
	var err error
	d.values.recompute, err = d.values.entry(t)
	return err
}

// damage records a fault inside an op, and moves to the next one if the text goes on.
func (d *dumpReader) damage(err error, op string, offset int64) error {
	if !damaged(err) {
		return err
	}
	text, at := what(err, offset)
	d.problem(Problem{What: text, File: d.file, Offset: at, Op: op})
	d.dropped("unreadable op")
	if errors.Is(err, errCut) || !d.scan.resync(d.indent, offset+1) {
		return d.cutShort()
	}
	return nil
}

// cutShort notes that the file lacks the end of the step.
func (d *dumpReader) cutShort() error {
	d.cut = true
	return d.scan.err
}

// commit writes the rows of an op that was read whole.
func (d *dumpReader) commit(of *op, offset int64) error {
	node, first := d.graph.run(of.row.OpID)
	if !first {
		d.problem(Problem{What: "the op appears twice; the first one is kept", File: d.file, Offset: offset, Op: of.row.Name})
		d.dropped("op that appears twice")
		d.values.forgetFresh()
		return nil
	}
	d.opCount++
	for _, where := range d.values.oddShapes {
		d.problem(Problem{What: "the shape of " + where + " is no list of sizes", File: d.file, Offset: offset, Op: of.row.Name})
	}
	if err := d.tell(of); err != nil {
		return err
	}
	for i := range d.values.fresh {
		row := &d.values.fresh[i]
		if err := batch.Add(d.out, d.out.Layout, row, len(row.Literal)+len(row.Placement)); err != nil {
			return err
		}
	}
	d.site = 0
	for part := range roleCount {
		if err := d.commitPart(of, part, node.microStep); err != nil {
			return err
		}
	}
	return nil
}

// tell writes the row of an op, once if there is a catalogue.
func (d *dumpReader) tell(of *op) error {
	if of.told {
		return nil
	}
	of.told = true
	row := of.row
	if d.values.recompute && row.Phase == schemas.PhaseForward {
		row.Phase = schemas.PhaseRecompute
	}
	return d.addOp(&row)
}

func (d *dumpReader) commitPart(of *op, part role, microStep uint16) error {
	list := d.values.list
	for i := range list {
		if list[i].role != part {
			continue
		}
		if err := d.commitValue(of, &list[i], microStep); err != nil {
			return err
		}
	}
	return nil
}

func (d *dumpReader) commitValue(of *op, v *value, microStep uint16) error {
	id, known := of.site(d.site, v)
	d.site++
	if !known {
		d.siteRow = schemas.SiteRow{SiteID: id, OpID: of.row.OpID, Role: v.role.String(), Path: v.path}
		if err := batch.Add(d.out, d.out.Site, &d.siteRow, len(v.path)); err != nil {
			return err
		}
	}
	d.tensorRow = schemas.TensorRow{
		RunID: d.out.ID.RunID, Rank: d.out.ID.Rank, Epoch: d.out.ID.Epoch, EventTimeNs: d.eventTimeNs,
		Step: d.step, MicroStep: microStep, Seq: d.tensorCount, SiteID: id, LayoutID: v.layout,
		ElementCount: v.elements, Measured: v.statistics.measured, ValueMin: v.statistics.least,
		ValueMax: v.statistics.most, ValueMean: v.statistics.mean, ValueL2: v.statistics.norm,
		Digest: v.digest.value, DigestKind: v.digest.kind,
	}
	d.tensorCount++
	if v.file != "" {
		if err := d.addPayload(&d.tensorRow, v.file, d.header.DataDir); err != nil {
			return err
		}
	}
	return d.out.AddTensor(&d.tensorRow)
}
