package memorysnapshot

// kind says what a value on the pickle's stack is.
type kind uint8

const (
	other  kind = iota // nothing, or what a snapshot's reader does not need
	number             // n is it
	text               // n is its place among the texts
	frame              // n is its place among the frames
	stack              // n is its place among the stacks
	list
	dict
	taken // a record that was handed over
)

// value is what an operation leaves. Texts, frames and stacks are kept once each.
type value struct {
	kind kind
	n    int64
	open *container // of a list or dict
}

// container is a list or dict whose items are still being read.
type container struct {
	role       role
	device     int // of a trace
	remembered int64
	blocks     []block // of a list of blocks
	fields     [fieldCount]value
	has        uint64 // bits of the fields that are set
}

// role is what a list is, by its place.
type role uint8

const (
	plain  role = iota
	traces      // of all devices
	trace       // of one
)

func (c *container) set(f field, v value) {
	c.fields[f] = v
	c.has |= 1 << f
}

// get is a field, and a value of no use where it is not set.
func (c *container) get(f field) value {
	if !c.holds(f) {
		return value{}
	}
	return c.fields[f]
}

func (c *container) holds(f field) bool { return c.has&(1<<f) != 0 }

// bytes is a field that counts, or addresses.
func (c *container) bytes(f field) uint64 {
	if c.get(f).kind != number {
		return 0
	}
	return uint64(c.fields[f].n) //nolint:gosec // addresses have 64 bits, and sizes are checked
}

// size is a field in bytes, and 0 where it is negative.
func (c *container) size(f field) int64 {
	if c.get(f).kind != number {
		return 0
	}
	return min(max(c.fields[f].n, 0), mostBytes)
}

// mostBytes keeps sums of sizes within 64 bits.
const mostBytes = 1 << 46

// field is a key that matters. Its number is the place of its text among the texts.
type field uint8

const (
	fieldFilename field = iota
	fieldLine
	fieldName
	fieldAction
	fieldAddr
	fieldAddress
	fieldSize
	fieldRequested
	fieldRealSize
	fieldState
	fieldFrames
	fieldHistory
	fieldTime
	fieldDeviceFree
	fieldDevice
	fieldTotal
	fieldAllocated
	fieldActive
	fieldBlocks
	fieldSegments
	fieldTraces
	fieldCount
)

// fieldNames are the keys by their field.
func fieldNames() [fieldCount]string {
	return [fieldCount]string{
		"filename", "line", "name", "action", "addr", "address", "size", "requested_size", "real_size", "state", "frames",
		"history", "time_us", "device_free", "device", "total_size", "allocated_size", "active_size", "blocks", "segments",
		"device_traces",
	}
}
