package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/internal/torchfile"
)

// kept is a raw tensor of a run that has been found, and maybe opened.
type kept struct {
	name   string
	file   *os.File
	tensor *torchfile.Tensor
}

func (k *kept) close() { _ = k.file.Close() } // only read

// openTensors finds the tensors, the same of each run, and opens their files.
func (a *API) openTensors(ctx context.Context, client *system.Client, values given, sides []string) (open []kept, err error) {
	requests := make([]system.TensorRequest, len(sides))
	for i, side := range sides {
		requests[i] = values.tensor(side)
		asked := map[string]string{side: requests[i].Run, "rank": strconv.FormatInt(requests[i].Rank, 10), "op": requests[i].Op}
		if side == "bench" { // an op of its own, and the rank is the problem's
			asked = map[string]string{"bench": requests[i].Run, "run": requests[i].Run, "op": requests[i].Op}
		}
		if err := client.CheckPlaces(ctx, system.ReportRequest{Given: asked}); err != nil {
			return nil, err
		}
	}
	found, err := findTensors(ctx, client, requests, values)
	if unkept := (*system.NotKeptError)(nil); errors.As(err, &unkept) {
		return nil, &problemError{Status: http.StatusNotFound, Sentence: unkept.Sentence, Parameter: "op"}
	} else if err != nil {
		return nil, err
	}
	for i, one := range found {
		file, tensor, err := system.OpenKept(a.cfg.RawTensors(), one)
		if err != nil {
			return open, a.unopened(requests[i].Run, err)
		}
		open = append(open, kept{report.Printable(requests[i].Run) + ": " + one.String(), file, tensor})
	}
	return open, nil
}

func findTensors(ctx context.Context, client *system.Client, requests []system.TensorRequest, values given) ([]system.KeptTensor, error) {
	if len(requests) == 1 {
		found, err := client.KeptTensors(ctx, requests[0])
		return found[:min(1, len(found))], err
	}
	offset, _ := strconv.ParseInt(values.text("step_offset"), 10, 64) // it was checked, or is not given
	pair, err := client.KeptPair(ctx, requests[0], requests[1], offset)
	return pair[:], err
}

// unopened says where the file may be instead. The error itself names a folder of the server, which is for its log.
func (a *API) unopened(run string, err error) error {
	a.cfg.Log.Warn().Str("run", run).Err(err).Msg("a raw tensor cannot be opened")
	return &problemError{Status: http.StatusNotFound, Parameter: "op", Sentence: fmt.Sprintf(
		"the files of run %s do not lie where this server looks for them, or cannot be read; where they lie, ask tensortap tensor show or diff, with --dir for a dump that was published", report.Printable(run))}
}

// tensor is the request for the tensor of one side.
func (g given) tensor(side string) system.TensorRequest {
	request := system.TensorRequest{Run: g.text(side), Op: g.text("op"), Role: g.text("role"), Path: g.text("path"), Rank: -1, Step: -1}
	if other := g.text("bench_op"); side == "bench" && other != "" {
		request.Op = other
	}
	for name, to := range map[string]*int64{"rank": &request.Rank, "step": &request.Step} {
		if text := g.text(name); text != "" {
			*to, _ = strconv.ParseInt(text, 10, 64) // it was checked
		}
	}
	return request
}
