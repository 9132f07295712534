package system

import (
	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/health"
)

// Observe has the process's health know the client's servers, and what is done through the client.
func (c *Client) Observe(h *health.Health) {
	c.health = h
	h.Needs("stream", health.Connected(c.stream.Conn()))
	if c.database != nil {
		h.Needs("database", c.database.Ping)
	}
}

// observe has the health know the stores, the stream and the deliveries.
func (s *System) observe(client *Client, store *archive, tables *clickhouse.Writer, deliveries []delivery) {
	h := s.cfg.Health
	client.Observe(h)
	h.Stream(client.stream)
	h.Tables(client.database)
	h.Inserts(tables.Counts)
	h.Disk(string(s.cfg.Folder))
	if store != nil {
		h.Archive(func() health.Archived { return health.Archived(store.writer.Stats()) })
		h.Copied(store.copying)
	}
	for _, d := range deliveries {
		h.Delivery(d.consumer, d.Metrics())
	}
}
