package elements

import (
	"fmt"
	"strings"
)

// filled is the share of a region's elements that differ from which on the region is a whole: some are the same by chance.
const filled = 0.9

// where says in words where elements differ, count in all: where most do, if only few lie elsewhere.
func (s *indices) where(count int64) string {
	all := region(s.axes(), count)
	axes, outside := s.main()
	if !strings.HasPrefix(all, scattered) && outside == 0 || float64(outside) > strays*float64(count) {
		return all
	}
	most := region(axes, count-outside)
	switch {
	case outside == 0 || strings.HasPrefix(most, scattered):
		return all
	case outside == 1:
		return most + "; and one element elsewhere"
	}
	return fmt.Sprintf("%s; and %d elements elsewhere", most, outside)
}

const scattered = "scattered: "

// region says in words where elements differ, count in all.
func region(axes []Axis, count int64) string {
	restricted, volume := []int{}, 1.0
	for i, a := range axes {
		if !a.Whole() {
			restricted = append(restricted, i)
		}
		volume *= float64(a.Differ)
	}
	share := float64(count) / volume
	switch {
	case len(axes) == 0:
		return "the only element"
	case share < filled:
		return fmt.Sprintf(scattered+"%.3g %% of the elements %s", 100*share, within(axes, restricted))
	case len(restricted) == 0:
		return "everywhere"
	case len(restricted) == len(axes) && count == 1:
		return "one element, at " + box(axes)
	case len(restricted) == 1:
		return slice(axes, restricted[0])
	case contiguous(axes):
		return "one block: " + box(axes)
	}
	return "where these cross: " + within(axes, restricted)
}

func contiguous(axes []Axis) bool {
	for _, a := range axes {
		if a.Parts != 1 {
			return false
		}
	}
	return true
}

// slice is a region of one axis, whole along all others.
func slice(axes []Axis, at int) string {
	a := axes[at]
	name := axisName(len(axes), at)
	first, length := a.Ranges[0].First, a.Differ
	switch {
	case length == 1 && a.Size > 1:
		return fmt.Sprintf("one slice: index %d of %s, of %d%s", first, name, a.Size, alone(axes, at))
	case a.Parts == 1 && a.Size%length == 0 && first%length == 0:
		return fmt.Sprintf("one part: indices %d to %d of %s, part %d of %d equal ones (from 0), as of one head, one expert or one shard",
			first, first+length-1, name, first/length, a.Size/length)
	case a.Parts == 1:
		return fmt.Sprintf("one block: indices %d to %d of %s, of %d", first, first+length-1, name, a.Size)
	}
	return fmt.Sprintf("%d slices: %s", length, indicesOf(axes, at))
}

// alone says of what one slice may be.
func alone(axes []Axis, at int) string {
	switch {
	case len(axes) == 4 && (at == 1 || at == 2):
		return ", as of one head"
	case len(axes) == 3 && at == 0:
		return ", as of one expert or one sample"
	}
	return ""
}

func within(axes []Axis, restricted []int) string {
	if len(restricted) == 0 {
		return "of the tensor"
	}
	var parts []string
	for _, at := range restricted {
		parts = append(parts, indicesOf(axes, at))
	}
	return "of " + strings.Join(parts, "; ")
}

// indicesOf are the indices of an axis that differ.
func indicesOf(axes []Axis, at int) string {
	return axisName(len(axes), at) + " " + axes[at].List(Shown)
}

// List is the first ranges of indices.
func (a *Axis) List(most int) string {
	var parts []string
	for _, r := range a.Ranges[:min(most, len(a.Ranges))] {
		parts = append(parts, r.String())
	}
	if more := a.Parts - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// String is a range as 3 or 3-7.
func (r Range) String() string {
	if r.First == r.Last {
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// box is a contiguous region as a program writes it.
func box(axes []Axis) string {
	parts := make([]string, len(axes))
	for i, a := range axes {
		switch r := a.Ranges[0]; {
		case a.Whole():
			parts[i] = ":"
		case r.First == r.Last:
			parts[i] = fmt.Sprint(r.First)
		default:
			parts[i] = fmt.Sprintf("%d:%d", r.First, r.Last+1)
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// axisName is rows or columns of a matrix, and the number of any other axis.
func axisName(axes, at int) string {
	if axes == 2 {
		return [...]string{"axis 0 (rows)", "axis 1 (columns)"}[at]
	}
	return fmt.Sprintf("axis %d", at)
}
