package clickhouse

import (
	"fmt"

	"github.com/tensortap/tensortap/schemas"
)

// call is one Write under way. Messages go by their position in it.
type call struct {
	messages []schemas.Message
	rejected map[int]string
}

func (c *call) reject(i int, reason string) { c.rejected[i] = reason }

func (c *call) header(i int) schemas.Header { return c.messages[i].Header }

// distinct parts messages into the first of each identity and the others.
func (c *call) distinct(of []int) (first, again []int) {
	seen := make(map[schemas.Identity]int, len(of))
	for _, i := range of {
		h := c.header(i)
		k, found := seen[h.Identity]
		switch {
		case !found:
			seen[h.Identity] = i
			first = append(first, i)
		case c.header(k).Rows != h.Rows:
			c.reject(i, fmt.Sprintf("batch %s has %d rows here and %d in another message", h.Identity, h.Rows, c.header(k).Rows))
		default:
			again = append(again, i)
		}
	}
	return first, again
}

// orphans is which of again repeat a message that was rejected. They have to
// stand for themselves.
func (c *call) orphans(first, again []int) []int {
	rejected := make(map[schemas.Identity]bool)
	for _, i := range first {
		if _, bad := c.rejected[i]; bad {
			rejected[c.header(i).Identity] = true
		}
	}
	var orphans []int
	for _, i := range again {
		if rejected[c.header(i).Identity] {
			orphans = append(orphans, i)
		}
	}
	return orphans
}

// chunks groups messages for one INSERT each: of one partition and of at most
// so many rows.
func (c *call) chunks(of []int, table schemas.Table, rows int) [][]int {
	if !table.PartitionByDay {
		return c.split(of, rows)
	}
	var order []int64
	days := make(map[int64][]int)
	for _, i := range of {
		key := schemas.Day(c.header(i).MinEventTimeNs)
		if len(days[key]) == 0 {
			order = append(order, key)
		}
		days[key] = append(days[key], i)
	}
	var chunks [][]int
	for _, key := range order {
		chunks = append(chunks, c.split(days[key], rows)...)
	}
	return chunks
}

// split cuts a list of messages where rows would be exceeded.
func (c *call) split(of []int, rows int) [][]int {
	var chunks [][]int
	begin, sum := 0, 0
	for k, i := range of {
		if sum+c.header(i).Rows > rows && k > begin {
			chunks = append(chunks, of[begin:k])
			begin, sum = k, 0
		}
		sum += c.header(i).Rows
	}
	if begin < len(of) {
		chunks = append(chunks, of[begin:])
	}
	return chunks
}

func (c *call) rows(of []int) int {
	sum := 0
	for _, i := range of {
		sum += c.header(i).Rows
	}
	return sum
}
