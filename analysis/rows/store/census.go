package store

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/schemas"
)

// counted is how many rows of tensor a run has of a site and layout.
type counted struct{ site, layout, rows uint64 }

// batches are those of one kind that an epoch of a rank has stored.
type batches struct {
	producer
	kind        string
	count, last uint64 // last is the greatest number
	rows        uint64
}

// unseen is what a step of a rank did not observe, for one reason.
type unseen struct {
	observed
	reason  string
	subject string
	count   uint64
}

const tensorKind = "tensor"

// census reads two columns of all tensors of a run, once.
func (s *Source) census(ctx context.Context, run uint64) ([]counted, error) {
	var found []counted
	query := fmt.Sprintf("SELECT site_id, layout_id, count() FROM tap_store.tensor WHERE run_id = %d GROUP BY site_id, layout_id", run)
	err := s.each(ctx, query, func(record arrow.RecordBatch) error {
		sites, layouts, counts := uint64s(record, 0), uint64s(record, 1), uint64s(record, 2)
		for i := range sites {
			found = append(found, counted{sites[i], layouts[i], counts[i]})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count tensors: %w", err)
	}
	return found, nil
}

// batches reads the projection ledger of each table of measurements, not its rows.
func (s *Source) batches(ctx context.Context, run uint64) ([]batches, error) {
	query := ""
	for _, t := range schemas.Tables() {
		if t.Class != schemas.Measurement || t.Judged {
			continue
		}
		if query != "" {
			query += " UNION ALL "
		}
		query += fmt.Sprintf(`SELECT '%s' AS kind, rank, epoch, count() AS batch_count, max(batch) AS last_batch, sum(row_count) AS row_count
			FROM (SELECT rank, epoch, batch, count() AS row_count FROM tap_store.%s WHERE run_id = %d GROUP BY rank, epoch, batch)
			GROUP BY rank, epoch`, t.Kind(), t.Kind(), run)
	}
	var found []batches
	err := s.each(ctx, query, func(record arrow.RecordBatch) error {
		kind, rank, epoch := texts(record, 0), uint32s(record, 1), uint64s(record, 2)
		count, last, rowCount := uint64s(record, 3), uint64s(record, 4), uint64s(record, 5)
		for i := range rank {
			found = append(found, batches{producer{rank[i], epoch[i]}, kind.Value(i), count[i], last[i], rowCount[i]})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count batches: %w", err)
	}
	return found, nil
}

func (s *Source) unseen(ctx context.Context, run uint64) ([]unseen, error) {
	var found []unseen
	query := fmt.Sprintf("SELECT rank, step, epoch, reason, subject, sum(unseen_count) FROM tap_store.unseen WHERE run_id = %d GROUP BY rank, step, epoch, reason, subject", run)
	err := s.each(ctx, query, func(record arrow.RecordBatch) error {
		rank, step, epoch, count := uint32s(record, 0), uint32s(record, 1), uint64s(record, 2), uint64s(record, 5)
		reason, subject := texts(record, 3), texts(record, 4)
		for i := range rank {
			u := unseen{reason: reason.Value(i), subject: subject.Value(i), count: count[i]}
			u.place.Rank, u.place.Step, u.epoch = rank[i], step[i], epoch[i]
			found = append(found, u)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count what was not observed: %w", err)
	}
	return found, nil
}

// refused counts the dead letters of each rank. Subjects are tap.KIND.RUN.RANK.
func (s *Source) refused(ctx context.Context, run uint64) (map[uint32]uint64, error) {
	found, err := s.perRank(ctx, fmt.Sprintf(`SELECT toUInt32OrZero(splitByChar('.', subject)[4]) AS rank, count() FROM tap_store.dead_letter FINAL
		WHERE match(subject, '^tap\\.[a-z0-9_]+\\.%s\\.[0-9]+$') AND rank != %d GROUP BY rank`, schemas.FormatID(run), uint32(schemas.NoRank)))
	if err != nil {
		return nil, fmt.Errorf("count dead letters: %w", err)
	}
	return found, nil
}

// undefined counts the ids of each rank that nothing defines.
func (s *Source) undefined(ctx context.Context, run uint64) (map[uint32]uint64, error) {
	found, err := s.perRank(ctx, fmt.Sprintf("SELECT rank, count() FROM tap.undefined_ids WHERE run_id = %d GROUP BY rank", run))
	if err != nil {
		return nil, fmt.Errorf("count undefined ids: %w", err)
	}
	return found, nil
}

func (s *Source) perRank(ctx context.Context, query string) (map[uint32]uint64, error) {
	found := map[uint32]uint64{}
	err := s.each(ctx, query, func(record arrow.RecordBatch) error {
		rank, count := uint32s(record, 0), uint64s(record, 1)
		for i := range rank {
			found[rank[i]] = count[i]
		}
		return nil
	})
	return found, err
}
