package rows

// Wanted are some of the tensors of a place: those of these sites or, where that is nil, those from one place in the rank's
// order to before another.
type Wanted struct {
	Sites            []uint64
	FirstSeq, EndSeq uint64
}
