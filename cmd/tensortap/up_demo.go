package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/internal/untar"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/msprobe"
)

// demoRuns are the runs of `up --demo`, and the recorded dumps that they are.
func demoRuns() map[string]string {
	return map[string]string{
		"demo-good":         "B00_golden_mix",
		"demo-wrong-weight": "B02_weight_mix",
		"demo-nan":          "B14_nan_l2_mlp_step1_mix",
	}
}

// showDemo stores the runs of the demonstration, and says where the page shows them. Storing them again changes nothing.
func (a *app) showDemo(ctx context.Context, e system.Endpoint, page string) error {
	client, err := system.Connect(ctx, e, time.Now)
	if err != nil {
		return fmt.Errorf("connect the demonstration: %w", err)
	}
	defer client.Close()
	for run, dump := range demoRuns() {
		err := publishRecorded(ctx, client, run, dump)
		if errors.Is(err, pipelines.ErrRunDeleted) { // the others may be there
			fmt.Fprintf(a.stderr, "note: %v\n", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("store run %s of the demonstration: %w", run, err)
		}
	}
	_, err = fmt.Fprintf(a.stdout, `Runs of the demonstration: demo-wrong-weight and demo-nan, to be held against demo-good. Open
  %[1]s?view=verdict&problem=demo-wrong-weight&bench=demo-good
  %[1]s?view=overflow&problem=demo-nan
Remove them with: tensortap runs delete demo-good demo-wrong-weight demo-nan
`, page)
	return err
}

// publishRecorded stores a recorded dump as a run.
func publishRecorded(ctx context.Context, client *system.Client, run, name string) (err error) {
	dir, err := os.MkdirTemp("", "tensortap-demo-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	archive, err := msprobe.Recorded.Open("testdata/dumps/" + name + ".tar.gz")
	if err != nil {
		return err
	}
	if err := errors.Join(untar.Extract(archive, dir), archive.Close()); err != nil {
		return err
	}
	request := system.PublishRequest{Path: filepath.Join(dir, name, "dump"), Run: run, Labels: map[string]string{"demo": "yes"}}
	_, err = client.Publish(ctx, msprobe.Tool(), request, func(int64, int64) {})
	return err
}
