package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/producers/agent"
	"github.com/tensortap/tensortap/schemas"
)

// capturePatience is longer than most steps take.
const capturePatience = 30 * time.Second

// payloadBytes is the default limit of one process's raw tensors for one request.
const payloadBytes = 1 << 30

func newCapture(a *app) *cobra.Command {
	k := asking{request: agent.Request{Do: agent.DoCapture}}
	var payload bool
	var most int64
	var hashes []string
	var when []string
	cmd := &cobra.Command{
		Use:   "capture --run NAME",
		Short: "Record more of a live run, now, for some steps",
		Long: `Record more of a live run for some steps, from each rank's next step on. Then each rank
goes on as before. Within the modules of --scope it records everything, elsewhere as its
settings say; without --scope its settings hold everywhere. Sketches and digests are
always taken. With --payload raw tensors are kept in files; tensortap compare --payload
reads them.

Exit status: 0 every rank does as asked, 2 some rank does not, or an error.`,
		Example: `  tensortap capture --run bad --steps 2
  tensortap capture --run bad --level mix --scope 'layers.3.*' --payload
  tensortap capture --run bad --rank 3 --request 'chatcmpl-17*'
  tensortap capture --run bad --prompt 'Why is the sky blue'
  tensortap capture --run bad --when 'request=chatcmpl-17*, phase=decode'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if payload {
				k.request.MostBytes = most
			}
			var err error
			if k.request.Prompts, err = promptHashes(hashes); err != nil {
				return err
			}
			if k.request.When, err = capturedWhen(when); err != nil {
				return err
			}
			if err := checkCapture(&k.request, most); err != nil {
				return err
			}
			asked, err := a.askRun(cmd.Context(), &k)
			if err != nil {
				return err
			}
			return a.tellAsked(&k, &asked)
		},
	}
	k.flags(a, cmd, capturePatience)
	f := cmd.Flags()
	f.StringVar(&k.request.Level, "level", "mix", "level of recording, as in tensortap run")
	f.IntVar(&k.request.Steps, "steps", 2, "number of steps")
	f.StringSliceVar(&k.request.Scope, "scope", nil, "modules whose path fits a pattern, as layers.[0-3], and all inside them")
	f.StringSliceVar(&k.request.Requests, "request", nil, "only steps that serve a request whose id fits a pattern")
	f.StringArrayVar(&k.request.Texts, "prompt", nil, "only steps that serve a request whose prompt holds this `TEXT`, white space aside; may be given again")
	f.StringSliceVar(&hashes, "prompt-hash", nil, "likewise, by a `HASH` as reports show it under prompt_hash, of 16 hexadecimal digits")
	f.StringArrayVar(&when, "when", nil, "only steps that fulfil these `CONDITIONS`, as 'phase=decode, loss>10' (docs/conditions.md); may be given again")
	f.BoolVar(&payload, "payload", false, "keep raw tensors, at most 4,096 files for each rank")
	f.Int64Var(&most, "payload-bytes", payloadBytes, "most bytes of raw tensors for each rank")
	completeLevels(cmd)
	return cmd
}

func completeLevels(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("level", cobra.FixedCompletions(agent.Levels(), cobra.ShellCompDirectiveNoFileComp))
}

// checkCapture refuses requests that every process would refuse.
func checkCapture(r *agent.Request, most int64) error {
	switch {
	case !slices.Contains(agent.Levels(), r.Level):
		return fmt.Errorf("--level %s: want %s", strconv.Quote(r.Level), strings.Join(agent.Levels(), ", "))
	case r.Steps < 1:
		return fmt.Errorf("--steps %d: want 1 or more", r.Steps)
	case most < 1:
		return fmt.Errorf("--payload-bytes %d: want 1 or more", most)
	case slices.ContainsFunc(r.Texts, func(text string) bool { return strings.TrimSpace(text) == "" }):
		return errors.New("--prompt: want some text: white space alone is in every prompt")
	}
	return nil
}

func promptHashes(texts []string) ([]uint64, error) {
	hashes := make([]uint64, len(texts))
	for i, text := range texts {
		var err error
		if hashes[i], err = schemas.ParseID(text); err != nil {
			return nil, fmt.Errorf("--prompt-hash %s: want 16 hexadecimal digits, as reports show prompt_hash", strconv.Quote(text))
		}
	}
	return hashes, nil
}
