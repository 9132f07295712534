package msprobeoverflow

import (
	"slices"
	"strings"
)

// direction is the part of a rank in a call.
type direction uint8

const (
	among direction = iota // all alike
	source
	destination
)

func (d direction) opposite() direction {
	switch d {
	case source:
		return destination
	case destination:
		return source
	case among:
	}
	return among
}

// call is one call between ranks and what began since the one before it.
type call struct {
	*Op
	api   string
	layer int // how many calls precede it
	place int // how many ops precede it since the last call
	part  direction
	began []began
	links map[*call]bool // the same call on other ranks
}

// began is an op in which something began, and how many ops precede it since the last call.
type began struct {
	*Op
	layer, place int
}

// collect finds the calls of a rank from its first on.
func (r *rankOps) collect() {
	var pending []began
	place := 0
	for i := range r.ops {
		o := &r.ops[i]
		switch {
		case isCollective(o.Name):
			parts := strings.Split(o.Name, ".")
			r.calls = append(r.calls, &call{Op: o, api: parts[1], layer: len(r.calls), place: place, part: o.part(parts[1]), began: pending, links: map[*call]bool{}})
			pending, place = nil, 0
		case len(r.calls) > 0 && !isIgnored(o.Name):
			if o.begins() {
				pending = append(pending, began{Op: o, place: place})
			}
			place++
		}
	}
	for _, b := range pending {
		r.after = append(r.after, b.Op)
	}
}

// directed is what the rank named by an argument does in the call; calls that are not here have no direction.
func directed(api string) (direction, bool) {
	switch api {
	case "send", "isend", "gather", "send_object_list":
		return destination, true
	case "recv", "irecv", "broadcast", "scatter", "recv_object_list":
		return source, true
	}
	return among, false
}

// part is what the op's own rank does in the call.
func (o *Op) part(api string) direction {
	own := int64(o.Rank)
	named, isDirected := directed(api)
	switch {
	case o.Source != nil:
		return turned(source, *o.Source == own)
	case o.Destination != nil:
		return turned(destination, *o.Destination == own)
	case isDirected && len(o.Numbers) > 0:
		return turned(named, o.Numbers[0] == own)
	}
	return among
}

func turned(d direction, own bool) direction { //nolint:revive // flag-parameter: whose rank it is
	if own {
		return d
	}
	return d.opposite()
}

// partnerAPI is the API on the other side.
func (c *call) partnerAPI() string {
	pairs := []string{"send", "recv", "isend", "irecv", "send_object_list", "recv_object_list"}
	if i := slices.Index(pairs, c.api); i >= 0 {
		return pairs[i^1]
	}
	return c.api
}

// others are the ranks that the arguments name.
func (c *call) others() map[int64]bool {
	ranks := map[int64]bool{}
	for _, named := range []*int64{c.Destination, c.Source} {
		if named != nil {
			ranks[*named] = true
		}
	}
	if len(ranks) == 0 {
		for _, n := range c.Numbers {
			ranks[n] = true
		}
	}
	for _, n := range c.Group {
		ranks[n] = true
	}
	return ranks
}
