package system

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/payload"
	"github.com/tensortap/tensortap/internal/torchfile"
	"github.com/tensortap/tensortap/schemas"
)

// unreadable begins the message of a row whose files could not be read.
const unreadable = "unreadable"

func (r *rawTensors) row(ctx context.Context, p compare.PayloadPair) schemas.PayloadErrorRow {
	row := schemas.PayloadErrorRow{
		ProblemRunID: r.runs[0], BenchRunID: r.runs[1],
		Rank: p.Rank, Step: p.Step, ProblemSiteID: p.ProblemSite, BenchSiteID: p.BenchSite,
	}
	result, err := r.measure(ctx, p)
	if err != nil {
		row.Message = shortened(fmt.Sprintf("%s: %v", unreadable, err))
		return row
	}
	row.ElementCount, row.Message = uint64(result.Elements), result.Message //nolint:gosec // never negative
	if result.SameBits {
		row.SameBits = 1
	}
	row.Cosine, row.RelativeL2, row.L2Distance = result.Cosine, result.RelativeL2, result.L2Distance
	row.MaxAbsolute, row.MaxRelative = result.MaxAbsolute, result.MaxRelative
	row.ThousandthRatio, row.FiveThousandthRatio = result.Thousandth, result.FiveThousandth
	return row
}

func (r *rawTensors) measure(ctx context.Context, p compare.PayloadPair) (payload.Result, error) {
	var tensors [2]*torchfile.Tensor
	for i, side := range []string{"problem", "bench"} {
		file, err := r.open(i, p)
		if err != nil {
			return payload.Result{}, fmt.Errorf("%s: %w", side, err)
		}
		defer file.Close() //nolint:errcheck // only read
		if tensors[i], err = readTensor(file); err != nil {
			return payload.Result{}, fmt.Errorf("%s: %s: %w", side, p.Locations[i], err)
		}
	}
	return payload.Compare(ctx, tensors[0], tensors[1])
}

func (r *rawTensors) open(side int, p compare.PayloadPair) (*os.File, error) {
	at := [2]rows.Place{{Rank: p.Rank, Step: p.Step}, {Rank: p.BenchRank, Step: p.BenchStep}}[side]
	return r.kept[side].open(at, p.Locations[side])
}

func readTensor(file *os.File) (*torchfile.Tensor, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is %s, not a file: %w", info.Mode(), fs.ErrInvalid)
	}
	return torchfile.Open(file, info.Size())
}

// shortened is a message without the rest of an endless name of a file.
func shortened(message string) string {
	const most = 400
	if len(message) > most {
		message = message[:most] + "…"
	}
	return strings.ToValidUTF8(message, "?")
}
