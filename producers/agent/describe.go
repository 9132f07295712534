package agent

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tensortap/tensortap/schemas"
)

// about is the first two definitions of a folder: the run and rank of its process.
type about struct {
	run  schemas.RunRow
	rank schemas.RankRow
	// resume says that the process means to go on with a run that has ended.
	resume bool
	// launch is the same of all processes that one launch began; empty of earlier collectors.
	launch string
	// appends says that nobody names its steps: they go on behind those of earlier starts.
	appends bool
}

// runDefinition is the definition of kind run.
type runDefinition struct {
	Name             string         `json:"name"`
	Model            string         `json:"model"`
	Framework        string         `json:"framework"`
	FrameworkVersion string         `json:"framework_version"`
	Engine           string         `json:"engine"`
	EngineVersion    string         `json:"engine_version"`
	WorldSize        *uint32        `json:"world_size"`
	Dtype            string         `json:"dtype"`
	Seed             *int64         `json:"seed"`
	Level            string         `json:"level"`
	Task             string         `json:"task"`
	Commit           string         `json:"commit"`
	Config           string         `json:"config"`
	Labels           map[string]any `json:"labels"`
	Resume           bool           `json:"resume"`
	Appends          bool           `json:"appends"`
}

// rankDefinition is the definition of kind rank. Coordinates that are null are not known.
type rankDefinition struct {
	Epoch         uint64 `json:"epoch"` // of the process; earlier collectors wrote none
	Rank          uint32 `json:"rank"`
	Host          string `json:"host"`
	PID           *int64 `json:"pid"`
	Device        string `json:"device"`
	TP            *int16 `json:"tp"`
	PP            *int16 `json:"pp"`
	DP            *int16 `json:"dp"`
	CP            *int16 `json:"cp"`
	EP            *int16 `json:"ep"`
	TPSize        *int16 `json:"tp_size"`
	PPSize        *int16 `json:"pp_size"`
	DPSize        *int16 `json:"dp_size"`
	CPSize        *int16 `json:"cp_size"`
	EPSize        *int16 `json:"ep_size"`
	SourceName    string `json:"source_name"`
	StartedTimeNs *int64 `json:"started_time_ns"`

	Launch     string            `json:"launch"` // earlier collectors wrote none of these three
	Child      bool              `json:"child"`
	Parameters map[string]string `json:"parameters"`
}

// readAbout reads the first two definitions: run and rank.
func readAbout(from *definitions, head schemas.SpoolHead) (about, error) {
	var run runDefinition
	if err := readKind(from, "run", &run); err != nil {
		return about{}, err
	}
	var rank rankDefinition
	if err := readKind(from, "rank", &rank); err != nil {
		return about{}, err
	}
	if err := schemas.CheckRunName(run.Name); err != nil {
		return about{}, fmt.Errorf("name of run %q: %w", run.Name, err)
	}
	if rank.Epoch != 0 && rank.Epoch != head.Epoch {
		return about{}, fmt.Errorf("its definitions are those of another process, %016x: put its own back, or remove the folder", rank.Epoch)
	}
	a := about{run: run.row(head.StartedNs), rank: rank.row(head.Epoch), resume: run.Resume, appends: run.Appends, launch: rank.Launch}
	if a.run.WorldSize == nil || *a.run.WorldSize <= 1 {
		a.run.Host = rank.Host
	}
	a.run.Epoch = schemas.DescriptionID(a.run)
	a.rank.RunID = a.run.RunID
	return a, nil
}

func readKind(from *definitions, kind string, to any) error {
	text, whole, err := from.next(-1)
	if err != nil {
		return err
	}
	if !whole {
		return errNotReady
	}
	var d struct {
		Kind string `json:"d"`
	}
	if err := errors.Join(json.Unmarshal(text, &d), json.Unmarshal(text, to)); err != nil {
		return fmt.Errorf("read definition of the %s: %w", kind, err)
	}
	if d.Kind != kind {
		return fmt.Errorf("read definition of the %s: found one of %q", kind, d.Kind)
	}
	return nil
}

func (r *runDefinition) row(startedNs int64) schemas.RunRow {
	labels := map[string]string{}
	for name, value := range r.Labels {
		labels[name] = fmt.Sprint(value)
	}
	return schemas.RunRow{
		RunID: schemas.RunID(r.Name), Name: r.Name, Model: r.Model, Framework: r.Framework, FrameworkVersion: r.FrameworkVersion,
		Engine: r.Engine, EngineVersion: r.EngineVersion, WorldSize: r.WorldSize, Dtype: r.Dtype, Seed: r.Seed,
		Source: schemas.SourceCollector, Level: r.Level, Task: r.Task, Commit: r.Commit, Config: r.Config, Labels: labels,
		FirstEventTimeNs: startedNs, EventTimeSource: "rank",
	}
}

func (r *rankDefinition) row(epoch uint64) schemas.RankRow {
	row := schemas.RankRow{
		Rank: r.Rank, Epoch: epoch, Host: r.Host, PID: r.PID, Device: r.Device,
		TP: orUnknown(r.TP), PP: orUnknown(r.PP), DP: orUnknown(r.DP), CP: orUnknown(r.CP), EP: orUnknown(r.EP),
		TPSize: orUnknown(r.TPSize), PPSize: orUnknown(r.PPSize), DPSize: orUnknown(r.DPSize),
		CPSize: orUnknown(r.CPSize), EPSize: orUnknown(r.EPSize),
		SourceName: r.SourceName, StartedTimeNs: r.StartedTimeNs, Parameters: r.Parameters,
	}
	if r.Child {
		row.Child = 1
	}
	return row
}

func orUnknown(coordinate *int16) int16 {
	if coordinate == nil {
		return -1
	}
	return *coordinate
}
