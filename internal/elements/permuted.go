package elements

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/internal/torchfile"
)

// mostSlices bounds the indices of an axis of which the slices are told apart.
const mostSlices = 1 << 16

// permuted finds an axis of which the indices stand in another order: each slice of the problem is one of the bench's.
func (w *walk) permuted(ctx context.Context) string {
	if w.problem.Dtype != w.bench.Dtype {
		return ""
	}
	problem, err := slicesOf(ctx, w.problem)
	if err != nil {
		return "" // the reading before it did not fail: what was found stands without this
	}
	bench, err := slicesOf(ctx, w.bench)
	if err != nil {
		return ""
	}
	for axis := range w.Shape {
		if text := otherOrder(problem[axis], bench[axis]); text != "" {
			return fmt.Sprintf("permuted: the indices of %s are in another order; %s", axisName(len(w.Shape), axis), text)
		}
	}
	return ""
}

// slicesOf are hashes of the slices of each axis, none of axes that are too long.
func slicesOf(ctx context.Context, t *torchfile.Tensor) ([][]uint64, error) {
	hashes, strides := make([][]uint64, len(t.Shape)), make([]int64, len(t.Shape))
	step := int64(1)
	for axis, n := range slices.Backward(t.Shape) {
		strides[axis] = step
		step *= n
		if n > 1 && n <= mostSlices {
			hashes[axis] = make([]uint64, n)
		}
	}
	err := each(ctx, t, func(number int64, _ []byte, parts []float64) {
		value := hashOf(parts)
		for axis, of := range hashes {
			if of != nil {
				index := number / strides[axis] % t.Shape[axis]
				rest := uint64(number - index*strides[axis]) //nolint:gosec // never negative
				of[index] += mix(value ^ mix(rest))
			}
		}
	})
	return hashes, err
}

func hashOf(parts []float64) uint64 {
	var hash uint64
	for _, v := range parts {
		if v == 0 {
			v = 0 // of either sign
		}
		hash = mix(hash + math.Float64bits(v))
	}
	return hash
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// otherOrder says which slices are which, if each is one of the bench's.
func otherOrder(problem, bench []uint64) string {
	at := map[uint64]int{}
	for i, hash := range bench {
		at[hash] = i
	}
	var moved []string
	for i, hash := range problem {
		from, found := at[hash]
		if !found {
			return ""
		}
		if hash != bench[i] {
			moved = append(moved, fmt.Sprintf("%d is the bench's %d", i, from))
		}
	}
	if len(moved) == 0 {
		return ""
	}
	text := strings.Join(moved[:min(len(moved), Shown)], ", ")
	if more := len(moved) - Shown; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}
