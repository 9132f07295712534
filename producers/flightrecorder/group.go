package flightrecorder

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/tensortap/tensortap/schemas"
)

// groupKey tells the groups of one file apart.
func (e *entry) groupKey() string { return e.groupName + "\x1f" + e.description }

// ranksOf are nil where the file does not say, as gloo's does not.
func (c *recording) ranksOf(e *entry) []int64 {
	if known, ok := c.groups[e.groupName]; ok && known.description == e.description {
		return known.ranks
	}
	return nil
}

// groupNames are the names that all ranks have for the groups of a file: PyTorch's number of a group may be another at
// each rank. Of groups with one description and the same ranks, the names that PyTorch gave them tell which came first.
func (c *recording) groupNames() map[string]string {
	byKey := map[string]*entry{}
	for i := range c.entries {
		byKey[c.entries[i].groupKey()] = &c.entries[i]
	}
	alike := map[string]int{}
	names := map[string]string{}
	for _, key := range slices.SortedFunc(maps.Keys(byKey), func(a, b string) int { return compareNames(byKey[a], byKey[b]) }) {
		e := byKey[key]
		name := schemas.ProcessGroupName(e.description, c.ranksOf(e), 0)
		names[key] = schemas.ProcessGroupName(e.description, c.ranksOf(e), alike[name])
		alike[name]++
	}
	return names
}

func compareNames(a, b *entry) int {
	x, errX := strconv.ParseUint(a.groupName, 10, 64)
	y, errY := strconv.ParseUint(b.groupName, 10, 64)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a.groupName, b.groupName)
}
