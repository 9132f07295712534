package health

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// number is a number of a part that counts its work itself.
type number[T any] struct {
	name, help string
	kind       prometheus.ValueType
	read       func(*T) float64
}

// prefix begins the name of every number of ours.
const prefix = "tensortap_"

func counter[T any](name, help string, read func(*T) float64) number[T] {
	return number[T]{prefix + name + "_total", help, prometheus.CounterValue, read}
}

func gauge[T any](name, help string, read func(*T) float64) number[T] {
	return number[T]{prefix + name, help, prometheus.GaugeValue, read}
}

// label is one label of a number with its value. A value comes from a short list: names of consumers, tables, servers.
type label struct{ name, value string }

// tellEach tells all numbers of a part.
func tellEach[T any](tell func(prometheus.Metric), numbers []number[T], of *T, labels ...label) {
	names, values := make([]string, len(labels)), make([]string, len(labels))
	for i, l := range labels {
		names[i], values[i] = l.name, strings.ToValidUTF8(l.value, "?")
	}
	for _, n := range numbers {
		description := prometheus.NewDesc(n.name, n.help, names, nil)
		m, err := prometheus.NewConstMetric(description, n.kind, n.read(of), values...)
		if err != nil {
			m = prometheus.NewInvalidMetric(description, err)
		}
		tell(m)
	}
}
