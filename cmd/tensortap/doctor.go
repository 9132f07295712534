package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/doctor"
	"github.com/tensortap/tensortap/internal/embedded/libchdb"
)

func newDoctor(a *app) *cobra.Command {
	var output, spool, targets string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is wrong with this installation, and what to do",
		Long: `Say what is wrong with this installation, and what to do: the engine, the data folder and who
else may change it, the disk, the stream and how far each store is behind it, messages that
could not be stored, the database and its tables, judges and alert roles, events of this host
that no agent reads, and clocks. Nothing is started and nothing changed; without a running system it looks at
what there is on this host.

Exit status: 0 nothing is wrong, 1 something is, 2 not all could be looked at.`,
		Example: `  tensortap doctor
  tensortap doctor --output json
  tensortap doctor --targets deploy/prometheus/targets/tensortap.yml
  tensortap doctor --nats nats://nats:4222 --clickhouse http://user:password@db:8123`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := textOrJSON(output)
			if err != nil {
				return err
			}
			in, err := a.installation(spool)
			if err != nil {
				return err
			}
			if targets != "" {
				if in.Processes, err = doctor.ReadTargets(targets); err != nil {
					return err
				}
			}
			findings := doctor.Examine(cmd.Context(), in)
			if err := a.tellFindings(findings, format); err != nil {
				return err
			}
			return told(findings)
		},
	}
	cmd.Flags().StringVar(&spool, "spool", "", "root of the spools (also TENSORTAP_SPOOL); by default that of this user's collectors")
	cmd.Flags().StringVar(&targets, "targets", "", "`FILE` of HOST:PORT of processes with --metrics, as Prometheus takes it: each is asked whether it is ready")
	_ = cmd.MarkFlagFilename("targets", "yaml", "yml")
	addTextOrJSON(cmd, &output)
	return cmd
}

func (a *app) installation(spool string) (doctor.Installation, error) {
	folder, err := a.folder()
	if err != nil {
		return doctor.Installation{}, err
	}
	in := doctor.Installation{Folder: folder, Spool: a.serving(spool).Spool, Version: version, Elsewhere: a.nats != "", Find: a.endpoint, Now: time.Now}
	if a.nats != "" && a.clickhouse == "" {
		in.Find = a.streamEndpoint
	}
	if a.clickhouse == "" {
		in.Engine = a.examinedEngine
	}
	return in, nil
}

func (a *app) examinedEngine() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	path, err := libchdb.Locate(libchdb.Places{Explicit: a.engine, UserFolder: a.engineFolder(), Tree: filepath.Dir(self)})
	return fmt.Sprintf("ClickHouse %s in %s", libchdb.Version, path), err
}

func (a *app) tellFindings(findings []doctor.Finding, format report.Format) error {
	if format == report.JSON {
		return json.NewEncoder(a.stdout).Encode(findings)
	}
	for _, f := range findings {
		state := string(f.State)
		if f.State == doctor.Wrong {
			state = "WRONG"
		}
		fmt.Fprintf(a.stdout, "%-8s %s: %s\n", state, report.Printable(f.Part), report.Printable(f.Text))
		if f.Remedy != "" {
			fmt.Fprintf(a.stdout, "         to do: %s\n", report.Printable(f.Remedy))
		}
	}
	return nil
}

// told is the exit status of what was found.
func told(findings []doctor.Finding) error {
	switch doctor.Worst(findings) {
	case doctor.Wrong:
		return errDiffers
	case doctor.Unknown:
		return errors.New("not all could be looked at: see above")
	default:
		return nil
	}
}
