package origin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// endOfBackward is a meeting of all ranks without an op: libraries reduce gradients there, unrecorded.
const endOfBackward = "end of backward"

// Room finds the meetings of one step of a run, rank by rank. A collective is matched by its group, its API and the
// number of its call within the group and step; a message by sender, receiver and its number. A collective without a
// group joins all ranks. A Room is used by one goroutine.
type Room struct {
	definitions *rows.Definitions
	backward    map[uint64]bool // ops that end the backward of some program
	meetings    map[meetingKey]*Meeting
	order       []meetingKey
}

// NewRoom looks for meetings of one step of the run.
func NewRoom(run *rows.Run, definitions *rows.Definitions) *Room {
	return &Room{definitions: definitions, backward: backwardEnds(run, definitions), meetings: map[meetingKey]*Meeting{}}
}

// backwardEnds are the last backward ops of the programs of a run.
func backwardEnds(run *rows.Run, definitions *rows.Definitions) map[uint64]bool {
	ends, seen := map[uint64]bool{}, map[uint64]bool{}
	for i := range run.Steps {
		id := run.Steps[i].ProgramID
		if seen[id] {
			continue
		}
		seen[id] = true
		for _, row := range slices.Backward(definitions.Programs[id]) {
			if op := definitions.Ops[row.OpID]; op != nil && (op.Phase == "backward" || op.Phase == "gradient") {
				ends[op.OpID] = true
				break
			}
		}
	}
	return ends
}

// meetingKey is the same for all ranks that meet.
type meetingKey struct {
	microStep uint16
	label     string
	number    int
}

// callKey is one call of an op on a rank.
type callKey struct {
	microStep uint16
	op        uint64
}

// call is a call at which ranks may meet.
type call struct {
	key         callKey
	api         string
	collective  bool
	first, last uint64
	lastInput   uint64
	peer        string
	group       []uint32
	messages    []message
}

// message is one of a list that is sent or received at once.
type message struct {
	seq     uint64
	literal string
}

// Add looks for the meetings that a rank takes part in. Each rank of the step is added once.
func (r *Room) Add(rank uint32, tensors *rows.Tensors) {
	events := r.events(r.calls(tensors))
	numbers := map[meetingKey]int{} // calls of the rank so far, by API and label
	for i := range events {
		e := &events[i]
		counted := meetingKey{microStep: e.microStep, label: e.api + "\x1f" + e.label(rank)}
		numbers[counted]++
		r.meet(meetingKey{microStep: e.microStep, label: e.label(rank), number: numbers[counted]}, e, rank)
	}
}

func (r *Room) meet(key meetingKey, e *event, rank uint32) {
	met := r.meetings[key]
	if met == nil {
		met = &Meeting{}
		r.meetings[key] = met
		r.order = append(r.order, key)
	}
	if e.gives(rank) {
		met.Givers = append(met.Givers, Event{rank, e.seq})
	}
	if e.takes(rank) {
		met.Takers = append(met.Takers, Event{rank, e.seq})
	}
}

// Meetings are the meetings of all ranks that were added.
func (r *Room) Meetings() []Meeting {
	all := make([]Meeting, len(r.order))
	for i, key := range r.order {
		all[i] = *r.meetings[key]
	}
	return all
}

// calls are a rank's calls at which ranks may meet.
func (r *Room) calls(tensors *rows.Tensors) []*call {
	var found []*call
	byKey := map[callKey]*call{}
	for i := range tensors.Len() {
		site, known := r.definitions.Sites[tensors.SiteID[i]]
		if !known {
			continue
		}
		op := r.definitions.Ops[site.OpID]
		if op == nil || op.Level != "collective" && !r.backward[op.OpID] {
			continue
		}
		row := tensors.At(i)
		key := callKey{row.MicroStep, op.OpID}
		c := byKey[key]
		if c == nil {
			c = &call{key: key, api: op.ClassOrAPI, collective: op.Level == "collective", first: row.Seq, last: row.Seq}
			byKey[key] = c
			found = append(found, c)
		}
		c.add(&row, site, r.definitions.Layout(row.LayoutID))
	}
	return found
}

// add reads one argument or result of the call.
func (c *call) add(row *rows.Observation, site schemas.SiteRow, layout *schemas.LayoutRow) {
	c.first, c.last = min(c.first, row.Seq), max(c.last, row.Seq)
	if site.Role != "output" {
		c.lastInput = max(c.lastInput, row.Seq)
	}
	if layout == nil {
		return
	}
	switch {
	case layout.Kind == "group" && c.group == nil:
		c.group = groupRanks(layout.Literal)
	case layout.Kind == "int" && c.peer == "" && namesPeer(site):
		c.peer = layout.Literal
	case site.Role != "output" && strings.HasPrefix(layout.Literal, "torch.distributed.P2POp"):
		c.messages = append(c.messages, message{row.Seq, layout.Literal})
	}
}

// namesPeer says whether an argument is the root of a collective or the other side of a message. A keyword names its
// meaning; by position it is the second argument of all of these.
func namesPeer(site schemas.SiteRow) bool {
	return site.Path == "src" || site.Path == "dst" || site.Role == "input" && site.Path == "1"
}

func groupRanks(literal string) []uint32 {
	var group struct {
		Ranks []uint32 `json:"group_ranks"`
	}
	if json.Unmarshal([]byte(literal), &group) != nil {
		return nil
	}
	return group.Ranks
}

// event is a rank's part in a meeting.
type event struct {
	microStep uint16
	api       string
	seq       uint64
	other     string // root of a collective or the other side of a message; empty where not known
	group     []uint32
}

// events are the meetings of the calls in the order of their places. If a call ends the backward of some program, the
// last such call ends this program's.
func (r *Room) events(calls []*call) []event {
	var events []event
	var end *call
	for _, c := range calls {
		switch {
		case c.collective:
			events = append(events, c.events()...)
		case end == nil || c.last > end.last:
			end = c
		}
	}
	if end != nil {
		events = append(events, event{api: endOfBackward, seq: end.last})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.seq, b.seq) })
	return events
}

func (c *call) events() []event {
	if len(c.messages) == 0 {
		e := event{c.key.microStep, c.api, max(c.first, c.lastInput), c.peer, c.group}
		if way := strings.TrimPrefix(c.api, "i"); way == "send" || way == "recv" {
			e.api = way
		}
		return []event{e}
	}
	events := make([]event, len(c.messages))
	for i, m := range c.messages {
		events[i] = event{c.key.microStep, c.api, m.seq, peerOf(m.literal), c.group}
		if way := wayOf(m.literal); way != "" {
			events[i].api = way
		}
	}
	return events
}

func peerOf(literal string) string {
	_, rest, _ := strings.Cut(literal, `"peer":`)
	end := 0
	for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	return rest[:end]
}

func wayOf(literal string) string {
	_, rest, _ := strings.Cut(literal, `"op":"`)
	way, _, closed := strings.Cut(rest, `"`)
	way = strings.TrimPrefix(way, "i")
	if closed && (way == "send" || way == "recv") {
		return way
	}
	return ""
}

// label is the same on all ranks that take part.
func (e *event) label(rank uint32) string {
	switch e.api {
	case "send":
		return fmt.Sprintf("message %d %s", rank, e.other)
	case "recv":
		return fmt.Sprintf("message %s %d", e.other, rank)
	}
	return fmt.Sprintf("%s %v", e.api, e.group)
}

// isRoot says whether the rank is the root of the collective, or that is not known.
func (e *event) isRoot(rank uint32) bool {
	if e.other == "" {
		return true
	}
	root, err := strconv.ParseInt(e.other, 10, 64)
	return err != nil && rank == 0 || root == -1 || root == int64(rank)
}

func (e *event) gives(rank uint32) bool {
	return e.api != "recv" && (e.isRoot(rank) || e.api != "broadcast" && e.api != "scatter")
}

func (e *event) takes(rank uint32) bool {
	return e.api != "send" && (e.isRoot(rank) || e.api != "reduce" && e.api != "gather")
}
