package clickhouse_test

import (
	"testing"

	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/schemas"
)

func FuzzMessageIsInsertedOrRefused(f *testing.F) {
	s := startServer(f)
	w := s.writer(f)
	consumertest.Fuzz(f, func(t *testing.T, m schemas.Message) error {
		t.Helper()
		err := w.Write(t.Context(), []schemas.Message{m})
		if err == nil {
			s.exec(t, "TRUNCATE TABLE tap_store."+m.Header.Kind)
			w = s.writer(t) // the last one has this batch, and would decode no other of its name
		}
		return err
	})
}
