package gateway

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"bellwether/engine/dialect"
	"bellwether/engine/route"
)

// metrics are the gateway's Prometheus series. Labels are bounded: models and
// nodes of the fleet, protocols, outcomes; never a client's free text.
type metrics struct {
	inFlight prometheus.Gauge
	requests *prometheus.CounterVec
	refusals *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	ttft     *prometheus.HistogramVec
	total    *prometheus.HistogramVec
	queue    prometheus.Histogram
	page     http.Handler
}

func newMetrics(reg *prometheus.Registry) *metrics {
	seconds := prometheus.ExponentialBuckets(0.005, 2.5, 14)
	m := &metrics{
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{Name: "bellwether_requests_in_flight", Help: "Inference requests being queued or served."}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "bellwether_requests_total", Help: "Inference requests that ended, by outcome."}, []string{"protocol", "outcome", "node", "deployment"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "bellwether_refusals_total", Help: "Answers that were an error of ours, by status."}, []string{"status"}),
		tokens:   prometheus.NewCounterVec(prometheus.CounterOpts{Name: "bellwether_tokens_total", Help: "Tokens as the runtimes counted them."}, []string{"kind", "deployment"}),
		ttft:     prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "bellwether_ttft_seconds", Help: "Dispatch to first content.", Buckets: seconds}, []string{"deployment"}),
		total:    prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "bellwether_request_seconds", Help: "Arrival to end.", Buckets: seconds}, []string{"outcome"}),
		queue:    prometheus.NewHistogram(prometheus.HistogramOpts{Name: "bellwether_queue_seconds", Help: "Arrival to grant.", Buckets: seconds}),
	}
	reg.MustRegister(m.inFlight, m.requests, m.refusals, m.tokens, m.ttft, m.total, m.queue)
	m.page = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return m
}

func (m *metrics) refused(p *dialect.Problem) {
	m.refusals.WithLabelValues(strconv.Itoa(p.Status)).Inc()
}

func (m *metrics) finished(r *route.Record) {
	outcome := string(r.Outcome)
	m.requests.WithLabelValues(r.Protocol, outcome, r.Node, r.Chosen).Inc()
	m.total.WithLabelValues(outcome).Observe(r.Timing.TotalMs / 1000)
	m.queue.Observe(r.Timing.QueueMs / 1000)
	if r.Chosen == "" {
		return
	}
	if r.Timing.TTFTMs > 0 {
		m.ttft.WithLabelValues(r.Chosen).Observe(r.Timing.TTFTMs / 1000)
	}
	if u := r.Usage; u != nil {
		if u.Input != nil {
			m.tokens.WithLabelValues("input", r.Chosen).Add(float64(*u.Input))
		}
		if u.Output != nil {
			m.tokens.WithLabelValues("output", r.Chosen).Add(float64(*u.Output))
		}
	}
}

func (g *Gateway) metricsPage(w http.ResponseWriter, r *http.Request, _ caller) {
	g.metrics.page.ServeHTTP(w, r)
}
