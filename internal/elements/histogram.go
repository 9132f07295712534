package elements

import "math"

// Bin is a part of a range of numbers.
type Bin struct {
	From, To float64 // without To, but in the last bin
	Count    uint64
}

const mostBins = 16

// newBins divides a range; of whole numbers that are few, each has a bin.
func newBins(least, greatest float64, whole bool) []Bin { //nolint:revive // a property of the type
	width, bins := (greatest/mostBins - least/mostBins), mostBins
	if whole && greatest-least < mostBins {
		width, bins = 1, int(greatest-least)+1
	}
	if width == 0 || math.IsNaN(width) {
		width, bins = 0, 1
	}
	made := make([]Bin, bins)
	for i := range made {
		made[i].From, made[i].To = least+float64(i)*width, least+float64(i+1)*width
	}
	if !whole || bins == mostBins {
		made[bins-1].To = greatest
	}
	return made
}

// binOf is the bin that a number of the range falls into.
func binOf(bins []Bin, value float64) int {
	width := bins[0].To - bins[0].From
	if width <= 0 {
		return 0
	}
	at := (value - bins[0].From) / width
	return int(min(max(at, 0), float64(len(bins)-1)))
}

// decades counts differences by their powers of ten.
type decades map[int]uint64

func (d decades) add(value float64) {
	if value > 0 && !math.IsInf(value, 1) {
		d[int(math.Floor(math.Log10(value)))]++
	}
}

// bins are all powers from the least to the greatest that occur, at most mostBins: the smallest ones are one bin.
func (d decades) bins() []Bin {
	if len(d) == 0 {
		return nil
	}
	least, greatest := math.MaxInt, math.MinInt
	for power := range d {
		least, greatest = min(least, power), max(greatest, power)
	}
	first := max(least, greatest-mostBins+1)
	bins := make([]Bin, greatest-first+1)
	for i := range bins {
		bins[i].From, bins[i].To = math.Pow(10, float64(first+i)), math.Pow(10, float64(first+i+1))
	}
	if least < first {
		bins[0].From = 0
	}
	for power, count := range d {
		bins[max(power-first, 0)].Count += count
	}
	return bins
}
