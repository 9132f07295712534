package sglangdumper

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/producers/internal/saved"
)

// file is one saved value, as its name describes it.
type file struct {
	saved.File

	step, rank uint32
	index      uint64 // the rank's own order
	value      string // name of the value
	recompute  bool   // the forward ran again for its gradient's sake
	layer      int32  // -1 when it was saved in none
	tags       string // further keys of its user, as k=v,k=v
}

const extension = ".pt"

// parseName reads step=0___rank=0___dump_index=1___name=positions___layer_id=2.pt.
func parseName(name string) (file, error) {
	f := file{File: saved.File{Name: name}, layer: -1}
	seen := map[string]bool{}
	for _, part := range split(strings.TrimSuffix(strings.ToValidUTF8(name, "?"), extension)) {
		key, text, _ := strings.Cut(part, "=")
		key, err := f.set(key, text)
		if err != nil {
			return f, err
		}
		seen[key] = true
	}
	for _, key := range []string{"step", "rank", "dump_index", "name"} {
		if !seen[key] {
			return f, fmt.Errorf("its name has no %s", key)
		}
	}
	return f, nil
}

// split cuts a name into its parts. Text without a key belongs to the part before it.
func split(name string) []string {
	const between = "___"
	var parts []string
	for part := range strings.SplitSeq(name, between) {
		if !strings.Contains(part, "=") && len(parts) > 0 {
			parts[len(parts)-1] += between + part
			continue
		}
		parts = append(parts, part)
	}
	return parts
}

// set reads one part of a name and returns its present key.
func (f *file) set(key, text string) (string, error) {
	var err error
	switch key {
	case "step", "curr_step", "forward_pass_id": // the dumper has renamed it twice
		f.step, err = whole[uint32](text, 32)
		key = "step"
	case "rank":
		f.rank, err = whole[uint32](text, 32)
	case "dump_index":
		f.index, err = whole[uint64](text, 64)
	case "name":
		f.value = text
	case "recompute_status":
		f.recompute = text == "recompute"
	case "layer_id":
		f.layer, err = whole[int32](text, 31)
	default:
		f.tag(key, text)
	}
	if err != nil {
		return key, fmt.Errorf("%s=%.40q in its name %w", key, text, err)
	}
	return key, nil
}

// tag tells values of one name apart. Ranks in parallel groups are left out: they follow from the rank.
func (f *file) tag(key, text string) {
	if strings.HasSuffix(key, "_rank") {
		return
	}
	if f.tags != "" {
		f.tags += ","
	}
	f.tags += key + "=" + text
}

// whole reads a whole number of so many bits.
func whole[N uint32 | uint64 | int32](text string, bits int) (N, error) {
	n, err := strconv.ParseUint(text, 10, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("is above the greatest that is kept, %d", uint64(1)<<bits-1)
	case err != nil:
		return 0, errors.New("is no number")
	}
	return N(n), nil
}
