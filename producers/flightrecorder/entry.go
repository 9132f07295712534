package flightrecorder

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/internal/torchfile"
	"github.com/tensortap/tensortap/schemas"
)

// entry is one call of the ring.
type entry struct {
	record          int64
	groupName       string // PyTorch's
	description     string
	pointToPoint    bool
	number          int64 // within the group
	name            string
	state           string
	inputs, outputs string
	created         int64
	started         *int64
	completed       *int64
	timeoutNs       *int64
	frames          []string
}

// newEntry refuses a call that lacks what it is joined by.
func newEntry(d torchfile.Dict) (e entry, err error) {
	e.pointToPoint, _ = d.Get("is_p2p").(bool)
	sequence := "collective_seq_id"
	if e.pointToPoint {
		sequence = "p2p_seq_id"
	}
	for key, into := range map[string]*int64{"record_id": &e.record, sequence: &e.number, "time_created_ns": &e.created} {
		value, ok := d.Get(key).(int64)
		if !ok || value < 0 {
			return e, fmt.Errorf("an entry whose %s is no number from 0 on", key)
		}
		*into = value
	}
	if err := e.setGroup(d.Get("process_group")); err != nil {
		return e, err
	}
	if err := e.setNameAndState(d); err != nil {
		return e, err
	}
	e.inputs = tensors(d.Get("input_dtypes"), d.Get("input_sizes"))
	e.outputs = tensors(d.Get("output_dtypes"), d.Get("output_sizes"))
	e.started, e.completed = timeOf(d.Get("time_discovered_started_ns"), 1), timeOf(d.Get("time_discovered_completed_ns"), 1)
	e.timeoutNs = timeOf(d.Get("timeout_ms"), 1e6)
	e.frames = framesOf(d.Get("frames"))
	return e, nil
}

func (e *entry) setGroup(value any) error {
	pair, ok := value.(torchfile.List)
	if !ok || len(pair) != 2 || textOf(pair[0]) == "" {
		return errors.New("an entry whose process_group is no name and description")
	}
	e.groupName, e.description = textOf(pair[0]), textOf(pair[1])
	return nil
}

// setNameAndState reads "nccl:all_reduce". Gloo leaves every call scheduled, and marks as retired what is complete.
func (e *entry) setNameAndState(d torchfile.Dict) error {
	profiled, state := textOf(d.Get("profiling_name")), textOf(d.Get("state"))
	backend, name, ok := strings.Cut(profiled, ":")
	if !ok || name == "" {
		return fmt.Errorf("an entry named %.40q, which is no backend and collective", profiled)
	}
	if backend == "gloo" && state == schemas.CollectiveScheduled && d.Get("retired") == any(true) {
		state = schemas.CollectiveCompleted
	}
	if state != schemas.CollectiveScheduled && state != schemas.CollectiveStarted && state != schemas.CollectiveCompleted {
		return fmt.Errorf("an entry with the unknown state %.40q", state)
	}
	e.name, e.state = name, state
	return nil
}

// timeOf is nil for no number, and for the 0 that JSON has in its place.
func timeOf(value any, unit int64) *int64 {
	n, ok := value.(int64)
	if !ok || n <= 0 || n > (1<<62)/unit {
		return nil
	}
	n *= unit
	return &n
}

const mostFrames = 256

// framesOf are written as the collector writes them.
func framesOf(value any) (frames []string) {
	list, _ := value.(torchfile.List)
	for _, part := range list[:min(len(list), mostFrames)] {
		f, _ := part.(torchfile.Dict)
		line, _ := f.Get("line").(int64)
		frames = append(frames, fmt.Sprintf("File %s, line %d, in %s", textOf(f.Get("filename")), line, textOf(f.Get("name"))))
	}
	return frames
}

// tensors are dtypes with shapes, equal neighbours as one.
func tensors(dtypes, sizes any) string {
	types, _ := dtypes.(torchfile.List)
	shapes, _ := sizes.(torchfile.List)
	var texts []string
	for i, shape := range shapes {
		text := ""
		if i < len(types) {
			text = dtypeName(textOf(types[i]))
		}
		list, _ := shape.(torchfile.List)
		texts = append(texts, text+shapeText(list))
	}
	return schemas.CollectiveTensors(texts)
}

func shapeText(shape torchfile.List) string {
	words := make([]string, len(shape))
	for i, size := range shape {
		n, _ := size.(int64)
		words[i] = strconv.FormatInt(n, 10)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_]{1,40}$`)

// dtypeName has torch's names for what its C++ calls otherwise.
func dtypeName(name string) string {
	if !plainName.MatchString(name) {
		return "unknown"
	}
	known := map[string]string{
		"Float": "float32", "Double": "float64", "Half": "float16", "Byte": "uint8", "Char": "int8", "Short": "int16",
		"Int": "int32", "Long": "int64", "ComplexFloat": "complex64", "ComplexDouble": "complex128",
	}
	if torch, ok := known[name]; ok {
		return torch
	}
	return strings.ToLower(name)
}
