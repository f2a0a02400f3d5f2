package gateway

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"bellwether/engine/dialect"
	"bellwether/engine/fleet"
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

	mu   sync.RWMutex // guards seen
	seen map[kind]*series
}

// kind is what the records have in common that count in the same series.
type kind struct {
	protocol     string
	outcome      fleet.Outcome
	node, chosen string
}

// series are those that the records of a kind count in. They are kept, since
// finding each by its labels costs more than to count. chosen's are nil where
// nobody served.
type series struct {
	requests      prometheus.Counter
	total, ttft   prometheus.Observer
	input, output prometheus.Counter
}

// of returns the series of a record. Kinds are as bounded as labels are.
func (m *metrics) of(k kind) *series {
	m.mu.RLock()
	s := m.seen[k]
	m.mu.RUnlock()
	if s != nil {
		return s
	}
	s = &series{
		requests: m.requests.WithLabelValues(k.protocol, string(k.outcome), k.node, k.chosen),
		total:    m.total.WithLabelValues(string(k.outcome)),
	}
	if k.chosen != "" {
		s.ttft = m.ttft.WithLabelValues(k.chosen)
		s.input, s.output = m.tokens.WithLabelValues("input", k.chosen), m.tokens.WithLabelValues("output", k.chosen)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[k] = s
	return s
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
	m.seen = map[kind]*series{}
	m.page = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return m
}

func (m *metrics) refused(p *dialect.Problem) {
	m.refusals.WithLabelValues(strconv.Itoa(p.Status)).Inc()
}

func (m *metrics) finished(r *route.Record) {
	s := m.of(kind{r.Protocol, r.Outcome, r.Node, r.Chosen})
	s.requests.Inc()
	s.total.Observe(r.Timing.TotalMs / 1000)
	m.queue.Observe(r.Timing.QueueMs / 1000)
	if r.Chosen == "" {
		return
	}
	if r.Timing.TTFTMs > 0 {
		s.ttft.Observe(r.Timing.TTFTMs / 1000)
	}
	if u := r.Usage; u != nil {
		if u.Input != nil {
			s.input.Add(float64(*u.Input))
		}
		if u.Output != nil {
			s.output.Add(float64(*u.Output))
		}
	}
}

func (g *Gateway) metricsPage(w http.ResponseWriter, r *http.Request, _ caller) {
	g.metrics.page.ServeHTTP(w, r)
}
