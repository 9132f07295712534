package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/analysis/mapping/families"
)

func newMapping(a *app) *cobra.Command {
	return choice(&cobra.Command{
		Use:   "mapping",
		Short: "Show the maps that pair one model in two implementations",
		Long: `Show the maps that ship: for each family of models how Transformers, vLLM, SGLang and
Megatron name and join its modules. compare takes them by itself (docs/cross.md).`,
		Example: `  tensortap mapping list
  tensortap mapping show llama vllm transformers`,
	}, "command", newMappingList(a), newMappingShow(a))
}

func newMappingList(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the families of models",
		Long: `List the families of models, with the classes of layers by which runs are told to be of
one.`,
		Example: `  tensortap mapping list`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := families.All()
			if err != nil {
				return err
			}
			for i := range all {
				if _, err := fmt.Fprintf(a.stdout, "%-12s %s\n", all[i].Name, strings.Join(all[i].Layers, ", ")); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func newMappingShow(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show FAMILY PROBLEM BENCH",
		Short: "Write the map of a family between two implementations",
		Long: `Write the map of a family between two implementations, the problem's first, as a file that
compare --map reads.`,
		Example: `  tensortap mapping show llama vllm transformers
  tensortap compare vllm hf --map map.yaml`,
		Args: cobra.ExactArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := families.Written(args[0], families.Implementation(args[1]), families.Implementation(args[2]))
			if err != nil {
				return err
			}
			_, err = io.WriteString(a.stdout, text)
			return err
		},
	}
}
