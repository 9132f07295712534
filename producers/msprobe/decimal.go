package msprobe

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// decimals reads numbers in one pass over their digits. If it is not sure to round correctly, it leaves the number to
// strconv. It is read only, and so good for several goroutines.
type decimals struct {
	powers [mostTen - leastTen + 1]uint64 // the first 64 bits of each power of ten, the rest cut off
}

const (
	leastTen, mostTen = -60, 30
	mostDigits        = 19 // that fit 64 bits
)

func newDecimals() *decimals {
	d := &decimals{}
	const precision = 512
	for ten := leastTen; ten <= mostTen; ten++ {
		power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(ten, -ten))), nil)
		if ten < 0 {
			power.Quo(new(big.Int).Lsh(big.NewInt(1), precision), power)
		} else {
			power.Lsh(power, 64) // so that there are 64 bits
		}
		d.powers[ten-leastTen] = power.Rsh(power, uint(power.BitLen()-64)).Uint64() //nolint:gosec // longer than that
	}
	return d
}

// decimal is a number while its digits are read.
type decimal struct {
	mantissa uint64
	digits   int  // of the mantissa
	zeros    bool // before those
	ten      int  // exponent of the mantissa's last digit
	negative bool
}

// read takes the number at the beginning of the text, and returns its length; 0 when there is none, or it may go on
// behind the text. It takes the same numbers as the scanner.
func (d *decimals) read(text []byte) (v float64, size int) {
	var n decimal
	at := n.read(text)
	if at == len(text) {
		return 0, 0
	}
	if at == 0 {
		return word(text)
	}
	if v, ok := d.value(&n); ok {
		return v, at
	}
	v, _ = strconv.ParseFloat(view(text[:at]), 64) // out of range is ±Inf
	return v, at
}

// word takes a number that is written as a word.
func word(text []byte) (v float64, size int) {
	for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
		if len(text) > len(word) && string(text[:len(word)]) == word {
			return float(text[:len(word)]), len(word)
		}
	}
	return 0, 0
}

// read is the length of the number, 0 where there is none.
func (n *decimal) read(text []byte) int {
	at := 0
	if len(text) > 0 && text[0] == '-' {
		n.negative = true
		at++
	}
	at = n.some(text, at)
	if at < len(text) && text[at] == '.' {
		point := at + 1
		at = n.some(text, point)
		n.ten = point - at
	}
	if n.digits == 0 && !n.zeros {
		return 0
	}
	if at < len(text) && (text[at] == 'e' || text[at] == 'E') {
		return n.exponent(text, at+1)
	}
	return at
}

// some reads digits of the mantissa, and says where they end.
func (n *decimal) some(text []byte, at int) int {
	for ; n.digits == 0 && at < len(text) && text[at] == '0'; at++ {
		n.zeros = true
	}
	from := at
	mantissa := n.mantissa
	for ; at < len(text) && text[at]-'0' < 10; at++ {
		mantissa = mantissa*10 + uint64(text[at]-'0')
	}
	n.mantissa = mantissa
	n.digits += at - from
	return at
}

// exponent reads the digits behind the e.
func (n *decimal) exponent(text []byte, at int) int {
	sign := 1
	if at < len(text) && (text[at] == '+' || text[at] == '-') {
		if text[at] == '-' {
			sign = -1
		}
		at++
	}
	from, value := at, 0
	for ; at < len(text) && text[at]-'0' < 10; at++ {
		value = min(value*10+int(text[at]-'0'), 1<<20)
	}
	if at == from {
		return 0
	}
	n.ten += sign * value
	return at
}

// value is the nearest float64, by the algorithm of Eisel and Lemire without its second multiplication, or false if
// that is needed.
func (d *decimals) value(n *decimal) (float64, bool) {
	if n.digits > mostDigits || n.ten < leastTen || n.ten > mostTen {
		return 0, false
	}
	if n.mantissa < 1<<53 && n.ten == 0 || n.mantissa == 0 {
		return n.signed(float64(n.mantissa)), true
	}
	zeros := bits.LeadingZeros64(n.mantissa)
	high, low := bits.Mul64(n.mantissa<<zeros, d.powers[n.ten-leastTen])
	if high&0x1ff == 0x1ff {
		return 0, false // the digits cut off may matter
	}
	first := high >> 63
	fraction := high >> (first + 9)
	if low == 0 && high&0x1ff == 0 && fraction&3 == 1 {
		return 0, false // perhaps halfway
	}
	const bias, log2of10 = 1023, 217706 // by 2^16
	exponent := n.ten*log2of10>>16 + 64 + bias - zeros - int(1^first)
	fraction = (fraction + fraction&1) >> 1
	if fraction>>53 > 0 {
		fraction >>= 1
		exponent++
	}
	return n.signed(math.Float64frombits(uint64(exponent)<<52 | fraction&(1<<52-1))), true //nolint:gosec // within the range of powers
}

func (n *decimal) signed(v float64) float64 {
	if n.negative {
		return -v
	}
	return v
}
