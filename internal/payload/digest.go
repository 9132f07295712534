package payload

import (
	"encoding/binary"
	"math/bits"
)

// golden spreads the numbers of pages.
const golden = 0x9e3779b97f4a7c15

// digest is the collector's hash of the bytes of elements, page by page (producers/torch/src/tensortap/_stats/digest.py defines
// it). The zero value is ready.
type digest struct{ pages, sum uint64 }

// page takes in the next page.
func (d *digest) page(raw []byte) {
	d.pages++
	d.sum += mix(pageHash(raw) + d.pages*golden)
}

// of is the digest of all pages, which have that many bytes.
func (d *digest) of(bytes uint64) uint64 { return mix(bytes*golden + d.sum) }

func pageHash(raw []byte) uint64 {
	hash := mix(uint64(len(raw)))
	chains := [8]uint64{
		0xa4093822299f31d0, 0x082efa98ec4e6c89, 0x452821e638d01377, 0xbe5466cf34e90c6c,
		0xc0ac29b7c97c50dd, 0x3f84d5b5b5470917, 0x9216d5d98979fb1b, 0xd1310ba698dfb5ac,
	}
	for ; len(raw) >= stripeBytes; raw = raw[stripeBytes:] {
		turn(&chains, raw)
	}
	if len(raw) > 0 {
		var last [stripeBytes]byte
		copy(last[:], raw)
		turn(&chains, last[:])
	}
	for _, chain := range chains {
		hash = mix(hash ^ chain)
	}
	return hash
}

const stripeBytes = 64

// turn takes eight words, one into each chain.
func turn(chains *[8]uint64, stripe []byte) {
	const factor, step = 0x243f6a8885a308d3, 0x13198a2e03707345
	for i := range chains {
		word := binary.LittleEndian.Uint64(stripe[8*i:])
		chains[i] = bits.RotateLeft64(chains[i]+word*factor, 31) * step
	}
}

// mix is the finaliser of SplitMix64.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
