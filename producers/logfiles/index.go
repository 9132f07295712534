package logfiles

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/producers/internal/lines"
	"github.com/tensortap/tensortap/producers/internal/logline"
	"github.com/tensortap/tensortap/schemas"
)

// file is a log, as long as it was when it was found.
type file struct {
	path, name string // the name is what rows call the stream
	size       int64
	modTimeNs  int64
	firstNs    int64 // of its first line with a time
	clock      clock
	places     places
	digest     uint64
	problems   []string
}

// places are which rank is where. A program of more places than that has ranks that are not known.
type places struct {
	usual   uint32 // rank of the file
	of      map[logline.Where]uint32
	bare    bool // there are lines that name no place
	guessed bool
	last    logline.Where // that was added
}

const mostPlaces = 1 << 16

func (f *file) parser() logline.Parser {
	return logline.Parser{Zone: f.clock.zone, Newest: time.Unix(0, f.modTimeNs)}
}

// index reads which ranks the file's lines are of, and its hash.
func (f *file) index() error {
	input, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer input.Close() //nolint:errcheck // only read
	hasher := xxh3.New()
	p, r, timed := f.parser(), logline.Record{}, false
	f.places.of, f.places.last = map[logline.Where]uint32{}, logline.Nowhere()
	from := f.newUnpacked(input)
	err = lines.Each(io.TeeReader(from, hasher), 0, func(l lines.Line) error {
		p.Head(l.View(), &r)
		f.places.add(r.Where)
		if r.Clock != logline.NoClock && !timed {
			f.firstNs, timed = r.TimeNs, true
		}
		return nil
	})
	if from.damage != nil {
		f.problems = append(f.problems, fmt.Sprintf("%s: what is behind its first %d bytes cannot be unpacked: %v", f.path, from.read, from.damage))
	}
	f.digest = hasher.Sum64()
	f.places.settle()
	return err
}

// digestOf is the hash of what a rank's rows are made of.
func (p *part) digestOf() uint64 {
	hasher := xxh3.New()
	_, _ = hasher.WriteString(p.file.name + "\x00" + p.file.clock.basis)
	_, _ = hasher.Write(binary.LittleEndian.AppendUint64(nil, p.file.digest))
	return hasher.Sum64()
}

func (p *places) add(w logline.Where) {
	if w == logline.Nowhere() {
		p.bare = true
		return
	}
	if w == p.last {
		return
	}
	p.last = w
	if _, known := p.of[w]; !known && len(p.of) < mostPlaces {
		p.of[w] = schemas.NoRank
	}
}

// settle finds the rank of each place. Data-parallel replicas either share the tensor-parallel ranks, as with SGLang's
// attention by data parallelism, where no tensor-parallel rank is of two of them, or have some each.
func (p *places) settle() {
	var tp, pp int32 = 1, 1
	replicas, shared := map[[2]int32]int32{}, false
	for w := range p.of {
		tp, pp = max(tp, w.TP+1), max(pp, w.PP+1)
		at := [2]int32{w.TP, w.PP}
		other, known := replicas[at]
		shared = shared || known && other != w.DP
		replicas[at] = w.DP
	}
	for w := range p.of {
		p.of[w] = schemas.NoRank
		switch {
		case w.Rank >= 0:
			p.of[w] = uint32(w.Rank)
		case w.TP >= 0 || w.PP >= 0 || w.DP >= 0:
			rank := int64(max(w.PP, 0))*int64(tp) + int64(max(w.TP, 0))
			if shared || w.TP < 0 {
				rank += int64(max(w.DP, 0)) * int64(tp) * int64(pp)
			}
			if rank < schemas.NoRank {
				p.of[w] = uint32(rank)
			}
			p.guessed = p.guessed || pp > 1 || w.DP >= 0
		case w.GPU >= 0:
			p.of[w], p.guessed = uint32(w.GPU), true
		}
	}
}

// rankOf is the rank of a line.
func (p *places) rankOf(w logline.Where) uint32 {
	if w == logline.Nowhere() {
		return p.rest()
	}
	if rank, known := p.of[w]; known {
		return rank
	}
	return schemas.NoRank
}
