package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/system"
)

// absolute makes the files that flags name absolute, as the program's processes may work elsewhere, and refuses what is not
// there.
func absolute(flag string, path *string) (err error) {
	if *path == "" {
		return nil
	}
	if *path, err = filepath.Abs(*path); err == nil {
		_, err = os.Stat(*path)
	}
	if err != nil {
		err = fmt.Errorf("--%s: %w", flag, err)
	}
	return err
}

// dumpPath is the folder that the file of --config asks a dump into; empty where it asks for none. What is wrong with the file
// the collector says.
func (l *launching) dumpPath() string {
	var asked struct {
		DumpPath string `json:"dump_path"`
	}
	text, err := os.ReadFile(l.config)
	if l.config == "" || err != nil || json.Unmarshal(text, &asked) != nil {
		return ""
	}
	return asked.DumpPath
}

func (a *app) exportTo(ctx context.Context, client *system.Client, run, dir string) error {
	if client.Endpoint.Reader == "" {
		return errors.New("no database is known here, only the stream")
	}
	if err := client.WaitStored(ctx); err != nil {
		return err
	}
	reading, err := client.Reading(ctx) // below another system a launch is a client of its stream alone
	if err != nil {
		return err
	}
	defer reading.Close()
	request := system.DefaultExportRequest()
	request.Run, request.Dir, request.Payloads = run, dir, a.keptHere()
	told := *a
	told.stdout = a.stderr // standard output is the program's
	return told.exportMsprobe(ctx, reading, request)
}

// writeDump writes the run as msProbe would have, where its configuration asks for files. What fails is told: the program has
// done its work, and the run is stored.
func (a *app) writeDump(ctx context.Context, client *system.Client, l launching) {
	dir := l.dumpPath()
	if dir == "" {
		return
	}
	if err := a.exportTo(ctx, client, l.run, dir); err != nil {
		a.tellLaunch("the dump that --config asks for is not written to its dump_path: " + printable(err) + "; into another folder: " +
			a.program() + " export msprobe --run " + report.Argument(l.run) + " DIR")
	}
}
