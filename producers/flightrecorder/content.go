package flightrecorder

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/internal/torchfile"
)

// recording is what a file tells, as far as it can be read.
type recording struct {
	entries []entry
	groups  map[string]group // by PyTorch's name
	lost    uint64           // entries that were there
	damage  error            // why the rest cannot be read
}

// group is the facts about a process group.
type group struct {
	description string
	ranks       []int64
}

const (
	beginsJSON   = '{'
	beginsPickle = 0x80
)

// parse reads a pickle or JSON. A file of neither kind, or one without a call, is an error.
func parse(text []byte) (recording, error) {
	c := recording{groups: map[string]group{}}
	var parts torchfile.List
	switch start := bytes.TrimLeft(text, " \t\r\n"); {
	case len(text) > 0 && text[0] == beginsPickle:
		parts, c.damage = torchfile.Plain(text)
	case len(start) > 0 && start[0] == beginsJSON:
		parts, c.damage = readJSON(start)
	default:
		return c, ErrNoTrace
	}
	c.walk(parts)
	c.countLost()
	if len(c.entries) == 0 && (c.damage != nil || len(c.groups) == 0) {
		return c, errors.Join(ErrNoTrace, c.damage)
	}
	return c, nil
}

// walk finds the calls and groups among whatever was read, since of a damaged file only parts are.
func (c *recording) walk(value any) {
	switch v := value.(type) {
	case torchfile.List:
		for _, part := range v {
			c.walk(part)
		}
	case torchfile.Dict:
		switch {
		case v.Get("profiling_name") != nil:
			c.addEntry(v)
		case v.Get("ranks") != nil && v.Get("desc") != nil:
			c.addGroup(v)
		default:
			for _, item := range v {
				c.walk(item.Value)
			}
		}
	}
}

func (c *recording) addEntry(d torchfile.Dict) {
	e, err := newEntry(d)
	if err != nil {
		c.lost++
		c.damage = cmp.Or(c.damage, err)
		return
	}
	c.entries = append(c.entries, e)
}

// addGroup leaves out what gloo writes by mistake: the last group that was made, without its name.
func (c *recording) addGroup(d torchfile.Dict) {
	name, description := textOf(d.Get("name")), textOf(d.Get("desc"))
	if name != "" {
		c.groups[name] = group{description, parseRanks(d.Get("ranks"))}
	}
}

// parseRanks reads a list, or the text of one.
func parseRanks(value any) (ranks []int64) {
	if list, ok := value.(torchfile.List); ok {
		ranks, _ = integers(list)
		return ranks
	}
	for _, word := range strings.FieldsFunc(textOf(value), func(r rune) bool { return !strings.ContainsRune("0123456789", r) }) {
		rank, err := strconv.ParseInt(word, 10, 32)
		if err != nil {
			return nil
		}
		ranks = append(ranks, rank)
	}
	slices.Sort(ranks)
	return ranks
}

// countLost adds the entries whose numbers are missing between those that were read.
func (c *recording) countLost() {
	slices.SortStableFunc(c.entries, func(a, b entry) int { return cmp.Compare(a.record, b.record) })
	missing := uint64(0)
	for i := 1; i < len(c.entries); i++ {
		if gap := c.entries[i].record - c.entries[i-1].record; gap > 1 && gap < mostGap {
			missing += uint64(gap - 1) //nolint:gosec // it is positive
		}
	}
	c.lost = max(c.lost, missing)
	if c.lost > 0 && c.damage == nil {
		c.damage = errors.New("numbers of calls are missing")
	}
	if c.damage != nil {
		c.lost = max(c.lost, 1)
	}
}

// mostGap is more than any ring holds: a greater gap is a number that was damaged.
const mostGap = 1 << 20

// shareGroups has all files know the groups that any of them knows.
func shareGroups(traces []*trace) {
	all := map[string]group{}
	for _, t := range traces {
		for name, g := range t.content.groups {
			if known, ok := all[name]; ok && known.description != g.description {
				g = group{}
			}
			all[name] = g
		}
	}
	for _, t := range traces {
		for name, g := range all {
			if _, ok := t.content.groups[name]; !ok && g.description != "" {
				t.content.groups[name] = g
			}
		}
	}
}

// textOf is empty for what is no text.
func textOf(value any) string {
	text, _ := value.(string)
	return strings.ToValidUTF8(text, "?")
}

func integers(list torchfile.List) ([]int64, error) {
	numbers := make([]int64, len(list))
	for i, value := range list {
		n, ok := value.(int64)
		if !ok {
			return nil, fmt.Errorf("%v where numbers are expected", value)
		}
		numbers[i] = n
	}
	return numbers, nil
}
