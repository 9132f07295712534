package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/plural"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/producers/agent"
)

// rawFlags are the flags of run that say which raw tensors are kept.
func (l *launching) rawFlags(f *pflag.FlagSet) {
	for name, usage := range map[string]string{
		"task":        "what is kept of a tensor: statistics, md5 (with msProbe's CRC-32), structure (nothing), tensor (a file, too)",
		"file-format": "with --task tensor: form of the files: safetensors, npy or pt",
	} {
		l.settings[name] = f.String(name, "", usage)
	}
}

// tasks and fileFormats are what the collector knows of these.
func tasks() []string { return []string{"statistics", "structure", "md5", "tensor"} }

func fileFormats() []string { return []string{"safetensors", "npy", "pt"} }

// checkRaw refuses what every process would refuse, and a folder in which none could write.
func (l *launching) checkRaw(folder string) error {
	task, form := *l.settings["task"], *l.settings["file-format"]
	if task != "" && !slices.Contains(tasks(), task) {
		return fmt.Errorf("--task %s: want %s", strconv.Quote(task), strings.Join(tasks(), ", "))
	}
	if form != "" && !slices.Contains(fileFormats(), form) {
		return fmt.Errorf("--file-format %s: want %s", strconv.Quote(form), strings.Join(fileFormats(), ", "))
	}
	if budget := *l.settings["budget"]; budget != "" && !isBudget(budget) {
		return fmt.Errorf("--budget %s: want a share of the time, as 2%%, a size of raw tensors, as 20GB, or both, as 2%%,20GB", strconv.Quote(budget))
	}
	if task != "tensor" {
		return nil
	}
	if err := tryFolder(folder); err != nil {
		return fmt.Errorf("--task tensor: no raw tensor could be kept: %w; name another folder with --data or TENSORTAP_PAYLOAD_FOLDER", err)
	}
	return nil
}

// isBudget says whether the collector can read it: its budgets.py knows more, and says what is wrong.
func isBudget(text string) bool {
	part := regexp.MustCompile(`^([0-9.]+%?|(host=)?[0-9]+(\.[0-9]+)?\s*[kKMGTP]?i?B)$`)
	return !slices.ContainsFunc(strings.Split(text, ","), func(one string) bool { return !part.MatchString(strings.TrimSpace(one)) })
}

func tryFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, "try-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// payloadFolder is where processes below run keep raw tensors.
func (a *app) payloadFolder() string {
	if named, err := filepath.Abs(a.getenv("TENSORTAP_PAYLOAD_FOLDER")); err == nil && a.getenv("TENSORTAP_PAYLOAD_FOLDER") != "" {
		return named
	}
	return a.payloads()
}

// keptHere is the folder of this host's raw tensors; empty where there are none.
func (a *app) keptHere() string {
	for _, folder := range []string{a.payloadFolder(), filepath.Join(a.spoolRoot(), "payloads")} {
		if agent.KeepsPayloads(folder) {
			return folder
		}
	}
	return ""
}

// rawTensors is that folder, or where it would be.
func (a *app) rawTensors() string { return cmp.Or(a.keptHere(), a.payloadFolder()) }

// tellRaw says what raw tensors a run has left on this host, and of how many it has not.
func (a *app) tellRaw(ctx context.Context, client *system.Client, run string) {
	if client.Endpoint.Reader == "" {
		return
	}
	kept, err := system.RawTensorsKept(ctx, client.Endpoint, run)
	switch {
	case err != nil:
		a.tellLaunch("how many raw tensors are kept is not known: " + printable(err))
	case kept.Files+kept.NotKept > 0:
		a.tellLaunch(fmt.Sprintf("raw tensors: %s, %s, below %s", plural.Of(kept.Files, "file"), plural.Of(kept.Bytes, "byte"), report.Printable(a.payloadFolder())))
	}
	if kept.NotKept > 0 {
		a.tellLaunch(fmt.Sprintf("raw tensors that were not kept: %d; why: %s report unseen --run %s", kept.NotKept, a.program(), report.Argument(run)))
	}
}

func rawWritten(count int) string {
	if count == 0 {
		return ""
	}
	return ", " + plural.Of(count, "raw tensor")
}
