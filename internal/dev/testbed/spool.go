package testbed

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tensortap/tensortap/schemas"
)

// SpoolOptions describe a spool. Zero values stand for: rank 0, this process, 1,024 records a segment.
type SpoolOptions struct {
	Run         string
	Rank        uint32
	Epoch       uint64
	PID         int
	SegmentRows int
	Numbers     int            // arguments of each step that are numbers, by turns one of a few and one that never was
	Started     time.Time      // now, when zero
	Unlocked    bool           // it holds no lock, as a process that is dead or on another machine; so one of another PID
	Fields      map[string]any // more of the definition of the run
}

// Spool writes a process's folder byte by byte, as the Python collector does.
type Spool struct {
	tb       testing.TB
	Dir      string
	options  SpoolOptions
	Head     schemas.SpoolHead
	header   *os.File
	defs     *os.File
	segments []*os.File
	at       uint64 // position of the next record
	ids      map[string]uint32
	count    map[string]uint32
	seq      uint32
	faults   map[string]float32
	Clock    int64 // event time of the next record, moved on by a microsecond each
}

// Record is a record of the spool, or its header.
type Record interface{ Store(memory []byte) }

// NewSpool makes the folder below the root, with the definitions of run and rank.
func NewSpool(tb testing.TB, root string, o SpoolOptions) *Spool {
	tb.Helper()
	if o.SegmentRows == 0 {
		o.SegmentRows = 1024
	}
	if o.PID == 0 {
		o.PID = os.Getpid()
	}
	if o.Started.IsZero() {
		o.Started = time.Now()
	}
	s := &Spool{tb: tb, options: o, ids: map[string]uint32{}, count: map[string]uint32{}, faults: map[string]float32{}, Clock: o.Started.UnixNano()}
	s.Dir = filepath.Join(root, fmt.Sprintf("%d-%016x", o.PID, o.Epoch))
	s.must(os.MkdirAll(s.Dir, 0o700))
	s.must(os.Chmod(root, 0o700)) //nolint:gosec // a folder, and no broader than it was
	const cutsRoom, positionBytes = 512 << 10, 12
	s.allocate("cuts", cutsRoom)
	s.allocate("cuts-other", cutsRoom)
	s.allocate("position", positionBytes)
	s.defs = s.create("definitions")
	run := map[string]any{"d": "run", "name": o.Run, "framework": "pytorch", "level": "L0", "task": "statistics", "labels": map[string]string{}}
	maps.Copy(run, o.Fields)
	s.define(run)
	s.define(map[string]any{"d": "rank", "rank": o.Rank, "epoch": o.Epoch, "host": "here", "pid": o.PID, "tp": nil, "source_name": fmt.Sprintf("rank%d", o.Rank)})
	s.Head = schemas.SpoolHead{
		Version: schemas.SpoolVersion, State: 1, PID: uint64(o.PID), Epoch: o.Epoch, StartedNs: o.Started.UnixNano(),
		HeartbeatNs: o.Started.UnixNano(), SegmentRows: uint32(o.SegmentRows),
	}
	s.header = s.create("header")
	s.must(s.header.Truncate(schemas.SpoolHeaderBytes))
	if !o.Unlocked && o.PID == os.Getpid() {
		s.must(syscall.Flock(int(s.header.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	}
	s.WriteHead()
	return s
}

func (s *Spool) must(err error) {
	s.tb.Helper()
	if err != nil {
		s.tb.Fatal(err)
	}
}

func (s *Spool) create(name string) *os.File {
	s.tb.Helper()
	file, err := os.OpenFile(filepath.Join(s.Dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	s.must(err)
	s.tb.Cleanup(func() { _ = file.Close() })
	return file
}

// allocate makes a file of zeros that has its room on the disk.
func (s *Spool) allocate(name string, size int) *os.File {
	s.tb.Helper()
	file := s.create(name)
	_, err := file.Write(make([]byte, size))
	s.must(err)
	return file
}

// WriteHead writes the header page's part of the process.
func (s *Spool) WriteHead() {
	s.tb.Helper()
	page := make([]byte, schemas.SpoolAgentOffset)
	copy(page, schemas.SpoolMagic)
	s.Head.Store(page)
	_, err := s.header.WriteAt(page, 0)
	s.must(err)
}

// Looked is the agent's part of the header: when it last looked, and the first segment that it has not
// released.
func (s *Spool) Looked() (time.Time, uint32) {
	s.tb.Helper()
	part := make([]byte, 12)
	_, err := s.header.ReadAt(part, schemas.SpoolAgentOffset)
	s.must(err)
	return time.Unix(0, int64(binary.LittleEndian.Uint64(part))), binary.LittleEndian.Uint32(part[8:])
}

// Asked is the agent's last request to the process.
func (s *Spool) Asked() (schemas.SpoolAsked, string) {
	s.tb.Helper()
	page := make([]byte, schemas.SpoolHeaderBytes)
	_, err := s.header.ReadAt(page, 0)
	s.must(err)
	var asked schemas.SpoolAsked
	asked.Load(page)
	const fields = 16
	text := page[schemas.SpoolControlOffset+fields:]
	return asked, string(text[:asked.Length])
}

// Answer writes the process's answer.
func (s *Spool) Answer(a *schemas.SpoolAnswered, text string) {
	s.tb.Helper()
	page := make([]byte, schemas.SpoolHeaderBytes)
	a.Store(page)
	const fields = 20
	copy(page[schemas.SpoolAnswerOffset+fields:], text)
	_, err := s.header.WriteAt(page[schemas.SpoolAnswerOffset:], schemas.SpoolAnswerOffset)
	s.must(err)
}

func (s *Spool) define(fields map[string]any) {
	s.tb.Helper()
	text, err := json.Marshal(fields)
	s.must(err)
	_, err = s.defs.Write(FrameDefinition(text))
	s.must(err)
}

// FrameDefinition is a definition as the file holds it.
func FrameDefinition(text []byte) []byte {
	framed := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	framed = binary.LittleEndian.AppendUint32(framed, crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)))
	return append(framed, text...)
}

// RawDefinitions appends bytes to the file of definitions.
func (s *Spool) RawDefinitions(data []byte) {
	s.tb.Helper()
	_, err := s.defs.Write(data)
	s.must(err)
}

// Define is the ordinal of a definition, written the first time.
func (s *Spool) Define(kind string, fields map[string]any) uint32 {
	s.tb.Helper()
	text, err := json.Marshal(fields)
	s.must(err)
	key := kind + string(text)
	if id, ok := s.ids[key]; ok {
		return id
	}
	s.count[kind]++
	s.ids[key] = s.count[kind]
	all := map[string]any{"d": kind, "id": s.count[kind]}
	maps.Copy(all, fields)
	s.define(all)
	return s.count[kind]
}

// Op is the ordinal of an op of that name.
func (s *Spool) Op(name string) uint32 {
	s.tb.Helper()
	return s.Define("op", map[string]any{"name": name})
}

// Text is the ordinal of a text.
func (s *Spool) Text(text string) uint32 {
	s.tb.Helper()
	return s.Define("text", map[string]any{"text": text})
}

// Layout is the ordinal of a float32 tensor of the shape.
func (s *Spool) Layout(shape ...int64) uint32 {
	s.tb.Helper()
	count := int64(1)
	for _, n := range shape {
		count *= n
	}
	return s.Define("layout", map[string]any{
		"kind": "tensor", "dtype": "torch.float32", "shape": shape, "stride_class": "contiguous", "device_kind": "cpu",
		"requires_grad": true, "placement": "", "literal": "", "count": count,
	})
}

// Site is the ordinal of an argument of an op.
func (s *Spool) Site(op uint32, role, path string) uint32 {
	s.tb.Helper()
	return s.Define("site", map[string]any{"op": op, "role": role, "path": path})
}

// Reserve takes so many records without writing them, in a segment with room for all, and returns the first.
func (s *Spool) Reserve(records int) uint64 {
	s.tb.Helper()
	for s.room() < records {
		s.Commit(s.Reserve(1), schemas.SpoolPadKind, nil)
	}
	position := s.at
	s.at += uint64(records)
	return position
}

// room is the number of records that the current segment still takes; a new segment follows a full
// one.
func (s *Spool) room() int {
	s.tb.Helper()
	rows := uint64(s.options.SegmentRows)
	if s.at == uint64(s.Head.NextSegment)*rows {
		segment := s.allocate(fmt.Sprintf("rows-%08d", s.Head.NextSegment), s.options.SegmentRows*schemas.SpoolRecordBytes)
		s.segments = append(s.segments, segment)
		s.Head.NextSegment++
		s.WriteHead()
	}
	return int(uint64(s.Head.NextSegment)*rows - s.at)
}

// Commit writes a reserved record, its commit word last; nil is one without fields.
func (s *Spool) Commit(position uint64, kind uint32, r Record) {
	s.tb.Helper()
	memory := make([]byte, schemas.SpoolRecordBytes)
	if r != nil {
		r.Store(memory)
	}
	rows := uint64(s.options.SegmentRows)
	segment, at := s.segments[position/rows], int64(position%rows)*schemas.SpoolRecordBytes
	_, err := segment.WriteAt(memory[:schemas.SpoolCommitOffset], at)
	s.must(err)
	binary.LittleEndian.PutUint32(memory[schemas.SpoolCommitOffset:], s.word(kind, uint32(position/rows), memory))
	_, err = segment.WriteAt(memory[schemas.SpoolCommitOffset:], at+schemas.SpoolCommitOffset)
	s.must(err)
}

// word is the commit word of a record, as the version of the spool has it.
func (s *Spool) word(kind, segment uint32, memory []byte) uint32 {
	switch s.Head.Version {
	case schemas.SpoolUncheckedVersion:
		return kind
	case schemas.SpoolUnplacedVersion:
		return schemas.SpoolCommit(kind, 0, memory)
	}
	return schemas.SpoolCommit(kind, schemas.SpoolPlace(s.options.Epoch, segment), memory)
}

// Put writes a record behind the others.
func (s *Spool) Put(kind uint32, r Record) {
	s.tb.Helper()
	s.Commit(s.Reserve(1), kind, r)
}

func (s *Spool) now() int64 {
	s.Clock += 1000
	return s.Clock
}

// Begin writes that a step begins.
func (s *Spool) Begin(step uint32) {
	s.tb.Helper()
	s.Put(schemas.SpoolStepKind, &schemas.SpoolStep{Step: step, Event: schemas.SpoolStepBegins, TimeNs: s.now(), Phase: s.Text("train")})
}

// End writes that a step ends.
func (s *Spool) End(step uint32, dropped uint64) {
	s.tb.Helper()
	s.Put(schemas.SpoolStepKind, &schemas.SpoolStep{Step: step, Event: schemas.SpoolStepEnds, TimeNs: s.now(), DroppedCount: dropped, Phase: s.Text("train")})
}

// Call writes the record of an op and returns its seq.
func (s *Spool) Call(name, parent string, flags, seq uint32) uint32 {
	s.tb.Helper()
	if seq == 0 {
		s.seq++
		seq = s.seq
	}
	r := schemas.SpoolOp{Op: s.Op(name), Seq: seq, TimeNs: s.now(), Flags: flags}
	if parent != "" {
		r.Parent = s.Op(parent)
	}
	r.Stack = s.Define("stack", map[string]any{"frames": []string{"in " + name}})
	s.Put(schemas.SpoolOpKind, &r)
	return seq
}

// MeasuredAll is the flags of a tensor with all statistics measured.
const MeasuredAll = 1<<11 - 1

// Tensor writes an argument of the call with that seq, of four elements around the value.
func (s *Spool) Tensor(op, role, path string, seq uint32, value float32) {
	s.tb.Helper()
	s.Put(schemas.SpoolTensorKind, &schemas.SpoolTensor{
		Site: s.Site(s.Op(op), role, path), Layout: s.Layout(2, 2), Seq: seq, Flags: MeasuredAll,
		ValueMin: value - 1, ValueMax: value + 1, ValueMean: float64(value), ValueM2: 2, ValueL1: float64(4 * value),
	})
}

// Number writes an argument that is a float of the call with that seq.
func (s *Spool) Number(op, path string, seq uint32, value float64) {
	s.tb.Helper()
	layout := s.Define("layout", map[string]any{"kind": "float"})
	s.Put(schemas.SpoolNumberKind, &schemas.SpoolNumber{Site: s.Site(s.Op(op), "input", path), Layout: layout, Seq: seq, Real: value})
}

// Step writes a whole step of a model with so many modules below its root, each with an input and an output.
func (s *Spool) Step(step uint32, modules int) {
	s.tb.Helper()
	s.Begin(step)
	s.Forward(step, modules)
	s.End(step, 0)
}

// Forward writes what is between the begin and the end of a step.
func (s *Spool) Forward(step uint32, modules int) {
	s.tb.Helper()
	const root = "Module.model.Model.forward.0"
	top := s.Call(root, "", schemas.SpoolOpOpens, 0)
	for i := range s.options.Numbers {
		number := float64(step) + float64(i)/1024
		if i%2 == 0 {
			number = -float64(step % 3)
		}
		s.Number(root, fmt.Sprint(i), top, number)
	}
	for i := range modules {
		name := fmt.Sprintf("Module.layers.%d.Linear.forward.0", i)
		seq := s.Call(name, root, schemas.SpoolOpOpens, 0)
		s.Tensor(name, "input", "0", seq, float32(step)+float32(i)/64)
		s.Call(name, root, schemas.SpoolOpEnds, seq)
		s.Tensor(name, "output", "0", seq, float32(step)-float32(i)/64+s.faults[name])
	}
	s.Call(root, "", schemas.SpoolOpEnds, top)
}

// Fault has the output of the op be that much greater from now on.
func (s *Spool) Fault(op string, by float32) { s.faults[op] = by }

// Close says that the process has ended by itself.
func (s *Spool) Close() {
	s.tb.Helper()
	s.Head.State = 2
	s.WriteHead()
}

// Die lets go of the lock, as the kernel does when it ends a process.
func (s *Spool) Die() {
	s.tb.Helper()
	s.must(syscall.Flock(int(s.header.Fd()), syscall.LOCK_UN))
}
