package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tensortap/tensortap/internal/launch"
)

// launching has the flags of run.
type launching struct {
	run, spool string
	settings   map[string]*string // of the collector, by the name of the flag
	config     string             // a file of msProbe's
	asMsprobe  bool
	resume     bool
	logs       string // which streams are kept
	eager      bool
	repeat     repeatable
	eagerly    []string // variables that --eager sets
	against    standing
	when       whenWords
	program    []string
	requests   servedRequests // that a server of the program gets
}

func (l *launching) flags(a *app, cmd *cobra.Command) {
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVar(&l.run, "run", "", "name of the run; by default the program's name and the time")
	f.StringVar(&l.spool, "spool", "", "root of the spools (also TENSORTAP_SPOOL); by default that of this user's collectors")
	f.StringVar(&l.config, "config", "", "take the settings of this config.json of msProbe")
	f.BoolVar(&l.asMsprobe, "as-msprobe", false, "stand in for the msProbe that the program itself calls, and find no model")
	f.BoolVar(&l.eager, "eager", false, "turn off CUDA graphs and compilation, which hide modules: of vLLM or SGLang by the engine's own flag, of another program by TORCHDYNAMO_DISABLE=1")
	l.repeat.flags(f)
	f.BoolVar(&l.resume, "resume", false, "go on with a run of that name; steps that a training repeats replace the old ones, those of a server go on behind them")
	f.StringVar(&l.logs, "logs", logsAuto, "keep the output of each process, for tensortap logs: auto (unless it goes to a terminal), all, off")
	f.Lookup("logs").NoOptDefVal = logsAll
	l.settingFlags(f)
	l.rawFlags(f)
	l.debugFlags(f)
	l.against.flags(a, cmd)
	l.requests.flags(f)
	l.when.flags(cmd)
	completeLevels(cmd)
}

// settingFlags are the collector's settings of the same names.
func (l *launching) settingFlags(f *pflag.FlagSet) {
	for name, usage := range map[string]string{
		"level":  "what to record: L0 (modules), L1 (calls of PyTorch), mix (both), aten (ops, counted by shapes), tokens (each token at places of the model)",
		"steps":  "steps to record, as 0,3-5,10-100/10",
		"ranks":  "ranks to record, as 0,3-5",
		"budget": "most of the program's time that recording may take, as 2%: steps are left out; or most bytes of raw tensors for each rank, as 20GB; or both, as 2%,20GB",
		"on-nan": "at the first NaN or infinity, beside recording it, any of: keep (the op's tensors, and a file that repeats it), stop (all ranks, after the step), raise (in the op)",
		"scope":  "only modules whose path fits a pattern, as layers.[0-3]",
		"ops":    "only calls that fit a pattern, as softmax",
		"apis":   "file of APIs to record, or to add and leave out, as msProbe's support_wrap_ops.yaml",
	} {
		l.settings[name] = f.String(name, "", usage)
	}
}

// read takes the program, and what flags leave to be found.
func (l *launching) read(a *app, cmd *cobra.Command, args []string) error {
	if l.program = args; l.eager {
		l.program, l.eagerly = launch.Eager(args)
	}
	if l.run == "" && !cmd.Flags().Changed("run") {
		l.run = scriptName(l.program) + time.Now().UTC().Format("-20060102-150405")
	}
	if err := l.against.read(cmd, l.run); err != nil {
		return err
	}
	var err error
	l.settings["when"], err = l.when.read(&l.against, a.getenv(whenVariable))
	return err
}
