package telemetry

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"starling/cmd/starling/otlp"
	"starling/cmd/starling/trace"
	"starling/runtime/metrics"
)

// ofFamilies are metrics as a collector is told them. Dots stand where Prometheus has no dots, and
// the end _total, which it adds itself, is left out: what comes of them there has the same name.
func ofFamilies(families []metrics.Family, began, now time.Time) (list []otlp.Metric) {
	for _, f := range families {
		m := otlp.Metric{Name: strings.ReplaceAll(strings.TrimSuffix(f.Name, "_total"), "_", "."), Description: f.Help}
		var points []otlp.Point
		for _, s := range f.Samples {
			p := otlp.Point{At: otlp.Nanos(now), Value: s.Value}
			if f.Kind == metrics.Counter {
				p.Start = otlp.Nanos(began)
			}
			if s.Label != "" {
				p.Attributes = []otlp.Attribute{otlp.Text(s.Label, s.Of)}
			}
			points = append(points, p)
		}
		switch {
		case len(points) == 0:
			continue
		case f.Kind == metrics.Counter:
			m.Sum = &otlp.Sum{Points: points, Temporality: otlp.Cumulative, Monotonic: true}
		default:
			m.Gauge = &otlp.Gauge{Points: points}
		}
		list = append(list, m)
	}
	return list
}

// agents are the histograms of the GenAI conventions: opentelemetry.io/docs/specs/semconv/gen-ai,
// gen_ai.client.token.usage and gen_ai.client.operation.duration, with the bounds that they advise.
type agents struct {
	began time.Time

	mu    sync.Mutex // guards what follows
	known map[string]*spread
}

func newAgents(began time.Time) *agents { return &agents{began: began, known: map[string]*spread{}} }

const (
	tokenUsage = "gen_ai.client.token.usage"
	duration   = "gen_ai.client.operation.duration"
)

// bounds are those that the conventions advise: for tokens, and for seconds.
func bounds(name string) []float64 {
	first, factor := 0.01, 2.0
	if name == tokenUsage {
		first, factor = 1, 4
	}
	list := make([]float64, 14)
	for i := range list {
		list[i] = first
		first *= factor
	}
	return list
}

// spread is one histogram of one set of attributes.
type spread struct {
	name       string
	attributes []otlp.Attribute
	bounds     []float64
	counts     []int64
	sum        float64
}

// add counts attempts of agents that have ended.
func (g *agents) add(list []trace.Attempt) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, a := range list {
		attributes := []otlp.Attribute{otlp.Text("gen_ai.operation.name", "invoke_agent"), otlp.Text("gen_ai.provider.name", a.Provider), otlp.Text("gen_ai.agent.name", a.Agent)}
		if a.Model != "" {
			attributes = append(attributes, otlp.Text("gen_ai.response.model", a.Model))
		}
		for kind, n := range map[string]int64{"input": a.Input, "output": a.Output} {
			if a.Input+a.Output > 0 { // one that tells nothing has not used none
				g.observe(tokenUsage, append(slices.Clone(attributes), otlp.Text("gen_ai.token.type", kind)), float64(n))
			}
		}
		if a.Failed != "" {
			attributes = append(attributes, otlp.Text("error.type", a.Failed))
		}
		g.observe(duration, attributes, a.Took.Seconds())
	}
}

// observe counts a value. It is called with mu held.
func (g *agents) observe(name string, attributes []otlp.Attribute, v float64) {
	var key strings.Builder
	key.WriteString(name)
	for _, a := range attributes {
		key.WriteString("\x00" + a.Key + "\x00" + *a.Value.Text)
	}
	s := g.known[key.String()]
	if s == nil {
		s = &spread{name: name, attributes: attributes, bounds: bounds(name)}
		s.counts = make([]int64, len(s.bounds)+1)
		g.known[key.String()] = s
	}
	at, _ := slices.BinarySearch(s.bounds, v) // a value at a bound is below it
	s.counts[at]++
	s.sum += v
}

// metrics are the histograms as they stand.
func (g *agents) metrics(now time.Time) (list []otlp.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, of := range []struct{ name, unit, help string }{
		{tokenUsage, "{token}", "Tokens that attempts of agents have read and written."},
		{duration, "s", "How long attempts of agents took."},
	} {
		h := &otlp.Histogram{Temporality: otlp.Cumulative}
		for _, s := range g.known {
			if s.name == of.name {
				h.Points = append(h.Points, s.point(g.began, now))
			}
		}
		if len(h.Points) > 0 {
			list = append(list, otlp.Metric{Name: of.name, Description: of.help, Unit: of.unit, Histogram: h})
		}
	}
	return list
}

func (s *spread) point(began, now time.Time) otlp.Spread {
	p := otlp.Spread{Attributes: s.attributes, Start: otlp.Nanos(began), At: otlp.Nanos(now), Sum: s.sum, Bounds: s.bounds}
	all := int64(0)
	for _, n := range s.counts {
		all += n
		p.Counts = append(p.Counts, strconv.FormatInt(n, 10))
	}
	p.Count = strconv.FormatInt(all, 10)
	return p
}
