package payload

import (
	"errors"
	"io"
	"testing"

	"github.com/tensortap/tensortap/internal/torchfile"
)

// Decode is every number of a tensor.
func Decode(tb testing.TB, t *torchfile.Tensor) []float64 {
	tb.Helper()
	s, err := newSide(t)
	if err != nil {
		tb.Fatal(err)
	}
	numbers := []float64{}
	for {
		if err := s.next(); errors.Is(err, io.EOF) {
			return numbers
		} else if err != nil {
			tb.Fatal(err)
		}
		s.decode()
		numbers = append(numbers, s.values...)
	}
}
