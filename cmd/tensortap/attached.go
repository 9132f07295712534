package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/producers/torch"
	"github.com/tensortap/tensortap/schemas"
)

// attached is the environment in which Python starts the collector.
func (a *app) attached(l launching) ([]string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find a folder for the collector: %w", err)
	}
	folder, err := torch.Unpack(filepath.Join(cache, "tensortap"))
	if err != nil {
		return nil, err
	}
	settings, err := l.variables()
	if err != nil {
		return nil, err
	}
	settings = append(settings, "TENSORTAP_PAYLOAD_FOLDER="+a.payloadFolder())
	path := l.pythonPath(folder, a.getenv("PYTHONPATH"))
	settings = append(append(settings, l.eagerly...), l.repeat.variables(os.Environ())...)
	return append(append(os.Environ(), settings...), "PYTHONPATH="+path), nil
}

// check refuses settings that the collector could not honour: better once and here than in every process.
func (l *launching) check() error {
	if err := schemas.CheckRunName(l.run); err != nil {
		return fmt.Errorf("--run %s: %w", strconv.Quote(l.run), err)
	}
	if level := *l.settings["level"]; level != "" && !slices.Contains(agent.Levels(), level) {
		return fmt.Errorf("--level %s: want L0, L1, mix, aten or tokens", strconv.Quote(level))
	}
	if err := errors.Join(l.checkOnNan(), l.repeat.check(), checkApis(l.settings["apis"])); err != nil {
		return err
	}
	for _, flag := range []string{"steps", "ranks"} {
		if _, err := steps.Parse(*l.settings[flag]); err != nil {
			return fmt.Errorf("--%s %s: %w", flag, strconv.Quote(*l.settings[flag]), err)
		}
	}
	return nil
}

// variables are the settings of the collector, that it has an agent, and whether it looks for a model itself.
func (l *launching) variables() ([]string, error) {
	variables := []string{"TENSORTAP_RUN=" + l.run, "TENSORTAP_SPOOL=" + l.spool, "TENSORTAP_SERVED=1", "TENSORTAP_LAUNCH=" + rand.Text()}
	if !l.asMsprobe {
		variables = append(variables, "TENSORTAP_ATTACH=1")
	}
	if l.when.difference {
		variables = append(variables, whenVariable+"=") // one from outside would hold for the steps that are compared
	}
	for name, value := range l.settings {
		if *value != "" {
			variables = append(variables, "TENSORTAP_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"="+*value)
		}
	}
	if l.config == "" {
		return variables, nil
	}
	config, err := filepath.Abs(l.config)
	if err == nil {
		_, err = os.Stat(config)
	}
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	return append(variables, "TENSORTAP_MSPROBE_CONFIG="+config), nil
}

// pythonPath puts the collector, and its module msprobe if asked for, before the user's entries.
func (l *launching) pythonPath(folder, users string) string {
	path := []string{folder}
	if l.asMsprobe {
		path = append([]string{filepath.Join(folder, torch.StandIn)}, path...)
	}
	if users != "" {
		path = append(path, users)
	}
	return strings.Join(path, string(os.PathListSeparator))
}

// tellLeftOut warns of an engine whose list of plug-ins leaves ours out. Most processes are entered without it.
func (a *app) tellLeftOut(environment []string) {
	for _, variable := range environment {
		name, list, _ := strings.Cut(variable, "=")
		if leavesOut(name, list) {
			a.tellLaunch(name + " leaves out the plug-in tensortap: processes that start Python without our sitecustomize, as Ray's workers, are not recorded; add it to the list to record them, too")
		}
	}
}

// leavesOut reads a list as its engine does: one of vLLM's that is empty allows none, one of SGLang's all.
func leavesOut(name, list string) bool {
	const plugin = "tensortap"
	switch name {
	case "VLLM_PLUGINS":
		return !slices.Contains(strings.Split(list, ","), plugin)
	case "SGLANG_PLUGINS":
		return list != "" && !slices.ContainsFunc(strings.Split(list, ","), func(name string) bool { return strings.TrimSpace(name) == plugin })
	}
	return false
}
