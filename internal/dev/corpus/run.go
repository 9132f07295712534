package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Run is the dumps of a run, in memory, to be changed.
type Run struct {
	Parts   []*Part // by step, then rank
	Compact bool    // written without blanks, as other tools write JSON
	Raw     string  // a folder whose raw tensors belong to the dump; empty for none
}

// Part is what one rank wrote at one step.
type Part struct {
	Step    int
	Folder  string // rank0, proc4711 and so on
	Dump    *Node
	Program *Node // construct.json
	Stacks  *Node // stack.json; nil when not written
	CutAt   int   // bytes of dump.json that reached the disk; 0 for all
}

// Load reads the dumps below a folder.
func Load(dir string) (*Run, error) {
	files, err := filepath.Glob(filepath.Join(dir, "step*", "*", "dump.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("find dumps in %s: %d, %w", dir, len(files), err)
	}
	slices.Sort(files)
	run := &Run{}
	for _, file := range files {
		part, err := loadPart(filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		run.Parts = append(run.Parts, part)
	}
	return run, nil
}

func loadPart(dir string) (*Part, error) {
	step, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(dir)), "step"))
	if err != nil {
		return nil, fmt.Errorf("read the step of %s: %w", dir, err)
	}
	part := &Part{Step: step, Folder: filepath.Base(dir)}
	for name, to := range part.files() {
		text, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // a recorded dump of ours
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if *to, err = Parse(string(text)); err != nil {
			return nil, fmt.Errorf("%s in %s: %w", name, dir, err)
		}
	}
	return part, nil
}

func (p *Part) files() map[string]**Node {
	return map[string]**Node{"dump.json": &p.Dump, "construct.json": &p.Program, "stack.json": &p.Stacks}
}

// Clone copies a run, to change the copy.
func (r *Run) Clone() *Run {
	twin := &Run{Compact: r.Compact, Raw: r.Raw}
	for _, p := range r.Parts {
		twin.Parts = append(twin.Parts, p.Clone())
	}
	return twin
}

// Clone copies a part, to change the copy.
func (p *Part) Clone() *Part {
	return &Part{Step: p.Step, Folder: p.Folder, CutAt: p.CutAt, Dump: p.Dump.Clone(), Program: p.Program.Clone(), Stacks: p.Stacks.Clone()}
}

// Rank is the number of the part's rank.
func (p *Part) Rank() int {
	rank, err := strconv.Atoi(strings.TrimPrefix(p.Folder, "rank"))
	if err != nil {
		return 0 // a process without a number is the only one
	}
	return rank
}

// Part is what a rank wrote at a step.
func (r *Run) Part(rank, step int) *Part {
	for _, p := range r.Parts {
		if p.Rank() == rank && p.Step == step {
			return p
		}
	}
	panic(fmt.Sprintf("corpus: no rank %d at step %d", rank, step)) //nolint:forbidigo // a label that is wrong, before any test runs
}

// Write puts the run below a folder, as msProbe lays it out.
func (r *Run) Write(dir string) error {
	format := (*Node).Indented
	if r.Compact {
		format = (*Node).String
	}
	for _, p := range r.Parts {
		if err := p.write(filepath.Join(dir, "step"+strconv.Itoa(p.Step), p.Folder), format); err != nil {
			return err
		}
	}
	if r.Raw == "" {
		return nil
	}
	return os.CopyFS(filepath.Join(dir, "step0", "rank0", "dump_tensor_data"), os.DirFS(r.Raw))
}

func (p *Part) write(dir string, format func(*Node) string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, node := range p.files() {
		if *node == nil {
			continue
		}
		text := format(*node)
		if name == "dump.json" && p.CutAt > 0 {
			text = text[:p.CutAt]
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
