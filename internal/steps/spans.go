package steps

import (
	"fmt"
	"strings"
)

// Spans are numbers of steps or ranks, in ascending order, in words, as 0-3, 6.
func Spans[N uint32 | int64](numbers []N) string {
	var words []string
	for begin := 0; begin < len(numbers); {
		end := begin
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		word := fmt.Sprint(numbers[begin])
		if end > begin {
			word += fmt.Sprintf("-%d", numbers[end])
		}
		words, begin = append(words, word), end+1
	}
	return strings.Join(words, ", ")
}
