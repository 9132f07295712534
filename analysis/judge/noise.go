package judge

// Noise is the greatest relative error that rounding alone is expected to make behind all layers: two right
// implementations sum in other orders.
type Noise struct {
	Dtype  string // the coarser of the main dtypes of both runs
	Layers int32
	Error  float64
}

// Noise is that of the runs; ok is false where a tolerance was asked for, or their dtypes are not known.
func (r *Rules) Noise() (n Noise, ok bool) {
	if r.mainRoundoff == 0 || r.config.Tolerance >= 0 || len(r.tolerances) > 0 || len(r.config.Spread) > 0 {
		return n, false
	}
	n = Noise{Dtype: r.mainDtype[0], Layers: r.layers, Error: toleratedByDepth(r.layers, r.mainRoundoff)}
	if roundoff(r.mainDtype[1]) > roundoff(r.mainDtype[0]) {
		n.Dtype = r.mainDtype[1]
	}
	return n, true
}
