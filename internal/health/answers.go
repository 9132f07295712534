package health

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// Answers are what the page and the API were asked.
type Answers struct{ Requests, Refused, Failed, Listeners uint64 }

func answerNumbers() []number[Answers] {
	return []number[Answers]{
		counter("api_requests", "Requests to the page and the API.", func(a *Answers) float64 { return float64(a.Requests) }),
		counter("api_refused_requests", "Requests to the page and the API that were not what is wanted: status 400 to 499.", func(a *Answers) float64 { return float64(a.Refused) }),
		counter("api_failed_requests", "Requests to the page and the API that could not be answered: status 500 and above.", func(a *Answers) float64 { return float64(a.Failed) }),
		gauge("api_listeners", "Connections that are told of changes.", func(a *Answers) float64 { return float64(a.Listeners) }),
	}
}

// Answers takes the page and the API.
func (h *Health) Answers(counts func() Answers) {
	h.has("api", func(_ context.Context, tell func(prometheus.Metric)) {
		now := counts()
		tellEach(tell, answerNumbers(), &now)
	})
}
