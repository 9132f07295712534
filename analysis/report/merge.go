package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/internal/plural"
)

// Merge is a run whose ranks were merged, group by group, to be compared with a run of another group size.
type Merge struct {
	Side   string              `json:"side"` // problem or bench
	Run    string              `json:"run"`
	Groups map[uint32][]uint32 `json:"groups"` // its ranks, by the least of them, which is the merged one's number
}

// words describes the merge.
func (m Merge) words() string {
	var groups []string
	for _, least := range slices.Sorted(maps.Keys(m.Groups)) {
		groups = append(groups, rankList(m.Groups[least]))
	}
	const most = 4
	shown := strings.Join(groups[:min(most, len(groups))], "; ")
	if more := len(groups) - most; more > 0 {
		shown += fmt.Sprintf("; and %s", plural.Of(more, "more group"))
	}
	return fmt.Sprintf("of %s, ranks %s made one", Printable(m.Run), shown)
}

// rankList is as 0, 1 or, of many, 0 to 7.
func rankList(ranks []uint32) string {
	const most = 4
	if last := len(ranks) - 1; last >= most && int(ranks[last]-ranks[0]) == last {
		return fmt.Sprintf("%d to %d", ranks[0], ranks[last])
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ranks), " ", ", "), "[]")
}
