package merge

import (
	"strconv"
)

// sort is the way in which parts make a whole.
type sort uint8

const (
	shards   sort = iota // they are cut along one dimension
	copies               // they are the same on all ranks
	sums                 // they are added up, as before an all-reduce
	argument             // a number, or a group, that follows from the number of ranks
	pieces               // nobody knows
	pending              // they were still being added up
)

const (
	kindTensor   = "tensor"
	classPending = "AsyncCollectiveTensor"
	classSharded = "torch.distributed.tensor.DTensor"
)

// sort says how the parts make a whole.
func (p *parts) sort() sort {
	own := p.layouts[0]
	if own.Kind != kindTensor {
		return p.sortOfArgument()
	}
	s := p.shapes()
	comparable := p.found && p.other.Kind == kindTensor && s.alike && len(p.other.Shape) == len(s.sums)
	switch {
	case own.Literal == classPending:
		return pending
	case comparable && p.complete() && s.split():
		return shards
	case p.sameOnAll() && (p.complete() || !p.found || s.allSame()):
		return copies
	case comparable && s.allSame(), !p.found:
		return sums
	}
	return pieces
}

func (p *parts) sortOfArgument() sort {
	own := p.layouts[0]
	switch {
	case own.Kind == "group" || !p.sameOnAll():
		return argument
	case !p.found || p.other.LayoutID == own.LayoutID || p.other.Kind != own.Kind:
		return copies
	case own.Kind != "int" && own.Kind != "size":
		return copies
	case p.followsFromRanks(numbersIn(own.Literal), numbersIn(p.other.Literal)):
		return argument
	}
	return copies
}

// followsFromRanks says whether whole numbers are equal to the other run's, or smaller by the factor of the ranks.
func (p *parts) followsFromRanks(own, other []int64) bool {
	if len(own) != len(other) {
		return false
	}
	for i := range own {
		if own[i] != other[i] && own[i]*p.members != other[i]*p.otherSize {
			return false
		}
	}
	return true
}

// numbersIn are the whole numbers in a text; one beyond 64 bits counts as 0.
func numbersIn(text string) []int64 {
	var numbers []int64
	for i := 0; i < len(text); {
		if !digit(text[i]) {
			i++
			continue
		}
		begin := i
		if i > 0 && text[i-1] == '-' {
			begin--
		}
		for i < len(text) && digit(text[i]) {
			i++
		}
		number, err := strconv.ParseInt(text[begin:i], 10, 64)
		if err != nil {
			number = 0
		}
		numbers = append(numbers, number)
	}
	return numbers
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
