package grafana

// metered are panels of the parts' own metrics, which Prometheus scrapes. The tests that ask the database leave them out.
func metered() []Panel {
	return []Panel{
		{Title: "Messages that wait in the stream", Drawing: OverTime, Metric: "max by (consumer) (tensortap_consumer_lag_messages)", Legend: "{{consumer}}", Unit: "short"},
		{Title: "Age of the oldest message that waits", Drawing: OverTime, Metric: "max by (consumer) (tensortap_consumer_lag_seconds)", Legend: "{{consumer}}", Unit: "s"},
		{Title: "Rows stored a second", Drawing: OverTime, Metric: "sum by (consumer) (rate(tensortap_delivery_stored_rows_total[$__rate_interval]))", Legend: "{{consumer}}", Unit: "short"},
		{
			Title: "Time of a write to the store, of 99 in 100", Drawing: OverTime, Unit: "s", Legend: "{{consumer}}",
			Metric: "histogram_quantile(0.99, sum by (consumer, le) (rate(tensortap_store_write_seconds_bucket[$__rate_interval])))",
		},
	}
}
