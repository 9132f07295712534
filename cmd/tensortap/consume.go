package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tensortap/tensortap/internal/embedded"
	"github.com/tensortap/tensortap/internal/system"
)

// Stores that consume fills.
const (
	storeTables  = "tables"
	storeArchive = "archive"
)

func newConsume(a *app) *cobra.Command {
	var (
		stores  []string
		rules   string
		request system.ConsumeRequest
		cfg     system.Config
		copied  archiveTo
	)
	cmd := &cobra.Command{
		Use:   "consume",
		Short: "Store the events of a NATS server elsewhere, until Ctrl-C",
		Long: `Store the events of a NATS server elsewhere, until Ctrl-C: in the tables of a ClickHouse
server elsewhere, in the Parquet archive of the data folder, or in both. tensortap up
does the same on one machine.

Run any number of them on any hosts. They share the shards of the stream for the tables:
each shard is one process's at a time. What a process had that is killed, stopped or cut
off is another's within ten seconds; nothing is lost and nothing is stored twice. You can
stop or kill and start each at any time. The archive of a data folder is whole, and one
process's at a time: a second one on that folder waits for the end of the first.

They carry out what tensortap runs delete decides and, with --retention, what a file of rules says of
how long runs stay.

With --replicas the streams are kept by so many servers of a NATS cluster.`,
		Example: `  tensortap consume --nats nats://nats:4222 --clickhouse http://user:password@db:8123 --store tables
  tensortap consume --nats nats://n1:4222,nats://n2:4222,nats://n3:4222 --store archive --data /srv/tensortap
  tensortap consume --replicas 3   with TENSORTAP_NATS and TENSORTAP_CLICKHOUSE, which do not show in ps`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(needsOfStore().check("consume"), embedded.CloseToOthers()); err != nil {
				return err
			}
			boundGarbage()
			if err := readStores(stores, &request); err != nil {
				return err
			}
			folder, err := filepath.Abs(a.data)
			if err != nil {
				return err
			}
			servers := system.DefaultConfig(system.Folder(folder), time.Now)
			servers.NATS, servers.ClickHouse, servers.Login, servers.Log = a.nats, a.clickhouse, a.login, a.logger()
			servers.ArchiveAge, servers.StreamBytes, servers.Health = cfg.ArchiveAge, cfg.StreamBytes, a.own
			if err := a.keep(&servers, &copied, rules); err != nil {
				return err
			}
			request.Ready = func() error { return a.announceConsume(servers, request) }
			return system.Consume(cmd.Context(), servers, request)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&stores, "store", []string{storeTables, storeArchive}, "where to store: tables, archive")
	f.IntVar(&request.Replicas, "replicas", 0, "how many servers of a NATS cluster keep the streams, at least; 0 leaves that to their administrator")
	f.Int64Var(&cfg.StreamBytes, "stream-bytes", 0, "greatest size of the stream; 0 leaves it as it is, 10 GiB for a new one")
	f.DurationVar(&cfg.ArchiveAge, "archive-age", 30*time.Second, "longest time until an event is in the Parquet archive")
	retentionFlag(cmd, &rules)
	copied.flags(f)
	return cmd
}

// readStores notes which stores are filled.
func readStores(stores []string, request *system.ConsumeRequest) error {
	for _, store := range stores {
		if store != storeTables && store != storeArchive {
			return fmt.Errorf("--store %q: want %s, %s, or both with a comma between them", store, storeTables, storeArchive)
		}
	}
	request.Tables, request.Archive = slices.Contains(stores, storeTables), slices.Contains(stores, storeArchive)
	return nil
}

// announceConsume says what is stored where.
func (a *app) announceConsume(cfg system.Config, request system.ConsumeRequest) error {
	servers := strings.Split(cfg.NATS, ",")
	for i := range servers {
		servers[i] = withoutSecret(strings.TrimSpace(servers[i]))
	}
	text := fmt.Sprintf("tensortap %s stores events, until Ctrl-C\n  stream      %s\n", version, strings.Join(servers, ", "))
	if request.Tables {
		text += "  clickhouse  " + withoutSecret(cfg.ClickHouse) + "\n"
	}
	if request.Archive {
		text += "  archive     " + filepath.Join(string(cfg.Folder), "archive") + "\n"
	}
	_, err := fmt.Fprint(a.stdout, text)
	return err
}
