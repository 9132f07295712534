package payload

import "github.com/tensortap/tensortap/internal/torchfile"

// PieceElements are read at a time.
const PieceElements = pieceElements

// Parts is the count of numbers in an element of that type: two of a complex one.
func Parts(d torchfile.Dtype) int { return int(partsOf(d)) }

// Numbers are those that the bytes of elements are.
func Numbers(d torchfile.Dtype, raw []byte) []float64 {
	numbers := make([]float64, int64(len(raw))/d.Size()*partsOf(d))
	decoderOf(d)(numbers, raw)
	return numbers
}

// Reader gives the elements of a tensor in row-major order, PieceElements at a time.
type Reader struct{ side *side }

// NewReader begins at the first element.
func NewReader(t *torchfile.Tensor) (*Reader, error) {
	s, err := newSide(t)
	return &Reader{side: s}, err
}

// Next is the next piece, as bytes and as numbers, which both hold until the next call; io.EOF at the end.
func (r *Reader) Next() (raw []byte, numbers []float64, err error) {
	if err := r.side.next(); err != nil {
		return nil, nil, err
	}
	r.side.decode()
	return r.side.raw, r.side.values, nil
}
