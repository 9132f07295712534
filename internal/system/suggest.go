package system

import (
	"context"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/rows/folders"
)

// SuggestMapOfFolders writes a mapping file for dumps on disk; it is empty where there is nothing to map.
func SuggestMapOfFolders(ctx context.Context, r CompareRequest) (string, error) {
	r = r.twoSides()
	paths := r.Sides()
	names := runNames(paths)
	source, err := folders.Open(ctx, []folders.Folder{{Name: names[0], Path: paths[0]}, {Name: names[1], Path: paths[1]}}, nil)
	if err != nil {
		return "", err
	}
	return compare.SuggestMap(ctx, source, r.analysis(names))
}

// twoSides is the request for the problem and its first bench alone.
func (r CompareRequest) twoSides() CompareRequest {
	r.Benches, r.Calibrate = r.Benches[:1], ""
	return r
}

// SuggestMap writes a mapping file for stored runs; it is empty where there is nothing to map.
func (c *Client) SuggestMap(ctx context.Context, r CompareRequest) (string, error) {
	r = r.twoSides()
	for _, run := range r.Sides() {
		if err := c.checkNamed(ctx, run); err != nil {
			return "", err
		}
	}
	return compare.SuggestMap(ctx, c.source(), r.analysis(r.Sides()))
}
