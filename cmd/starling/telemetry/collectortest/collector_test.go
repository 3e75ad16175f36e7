package collectortest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

// collector is the Collector's receiver of OTLP over HTTP, with what it has taken.
type collector struct {
	address string
	spans   *consumertest.TracesSink
	metrics *consumertest.MetricsSink
	stop    func()
}

func start(t *testing.T, address string) *collector {
	t.Helper()
	c := &collector{address: address, spans: new(consumertest.TracesSink), metrics: new(consumertest.MetricsSink)}
	f := otlpreceiver.NewFactory()
	config := f.CreateDefaultConfig().(*otlpreceiver.Config)
	config.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = address
	settings := receivertest.NewNopSettings(f.Type())
	ctx := context.Background()
	spans, err := f.CreateTraces(ctx, settings, config, c.spans)
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := f.CreateMetrics(ctx, settings, config, c.metrics)
	if err != nil {
		t.Fatal(err)
	}
	host := componenttest.NewNopHost()
	if err := spans.Start(ctx, host); err != nil {
		t.Fatal(err)
	}
	if err := metrics.Start(ctx, host); err != nil {
		t.Fatal(err)
	}
	c.stop = func() {
		if err := metrics.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := spans.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	}
	return c
}

// unused is an address of this machine at which nobody listens.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// program is a starling in a folder of its own.
type program struct {
	t        *testing.T
	bin, dir string
}

func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "starling")
	c := exec.Command("go", "build", "-o", bin, "./cmd/starling")
	c.Dir = "../../../.."
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

func (p *program) command(args ...string) *exec.Cmd {
	c := exec.Command(p.bin, args...)
	c.Dir, c.Env = p.dir, append(os.Environ(), "OTLP_TOKEN=hunter2")
	return c
}

func (p *program) run(args ...string) {
	p.t.Helper()
	if out, err := p.command(args...).CombinedOutput(); err != nil {
		p.t.Fatalf("starling %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

const script = `
def main():
    agent("judge", "weigh it", on_uncertain = "retry")
    run("child.star")
`

const agents = `
def judge(req):
    return reply(output = "whisper", usage = {"usd": 0.25, "input_tokens": 7, "output_tokens": 3})
`

func project(t *testing.T, bin, protocol, address string) *program {
	t.Helper()
	p := &program{t, bin, t.TempDir()}
	for name, text := range map[string]string{
		"main.star": script, "child.star": "def main():\n    return 1\n", "agents.star": agents,
		"starling.toml": fmt.Sprintf("fake = \"agents.star\"\n[telemetry]\nendpoint = \"http://%s\"\nprotocol = %q\ninterval = \"1s\"\nheaders = {Authorization = \"Bearer {otlp}\"}\n"+
			"[secrets.otlp]\nenv = \"OTLP_TOKEN\"\n", address, protocol),
	} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// A collector takes traces and metrics in both protocols: those of runs that have ended while it
// was away, and whose owner was killed, too.
func TestCollectorTakesIt(t *testing.T) {
	bin := build(t)
	for _, protocol := range []string{"http/protobuf", "http/json"} {
		t.Run(protocol, func(t *testing.T) {
			address := unused(t)
			p := project(t, bin, protocol, address)
			first := p.command("serve")
			if err := first.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, "an owner", func() bool { _, err := os.Stat(filepath.Join(p.dir, ".starling")); return err == nil })
			p.run("run", "main.star") // nobody takes it
			if err := first.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			first.Wait()
			c := start(t, address)
			defer c.stop()
			second := p.command("serve")
			if err := second.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { second.Process.Kill(); second.Wait() }()
			until(t, "the trace of the first run", func() bool { return c.spans.SpanCount() >= 5 })
			p.run("run", "main.star")
			until(t, "the trace of the second run", func() bool { return c.spans.SpanCount() >= 10 })
			until(t, "the tokens", func() bool { return len(c.points("gen_ai.client.token.usage")) > 0 })
			c.judge(t)
		})
	}
}

// until waits for something that must come.
func until(t *testing.T, what string, came func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !came(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come within a minute", what)
		}
	}
}

// judge looks at what has come.
func (c *collector) judge(t *testing.T) {
	t.Helper()
	var names []string
	for _, s := range c.all() {
		names = append(names, s.Name())
		if s.Name() != "invoke_agent judge" {
			continue
		}
		want := map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "judge", "gen_ai.provider.name": "judge",
			"gen_ai.usage.input_tokens": int64(7), "gen_ai.usage.output_tokens": int64(3), "starling.cost_usd": 0.25}
		for key, v := range want {
			if got, _ := s.Attributes().Get(key); got.AsRaw() != v {
				t.Errorf("%s is %v, want %v", key, got.AsRaw(), v)
			}
		}
		if s.Kind() != ptrace.SpanKindClient || s.EndTimestamp() < s.StartTimestamp() || s.ParentSpanID().IsEmpty() {
			t.Errorf("the span of the attempt: %v", s)
		}
	}
	slices.Sort(names)
	const each = "agent judge, invoke_agent judge, run child, run child.star, run main.star"
	if got := strings.Join(slices.Compact(names), ", "); got != each || len(names)%5 != 0 {
		t.Errorf("got %d spans: %s; want those of whole runs: %s", len(names), got, each)
	}
	for _, p := range c.points("gen_ai.client.token.usage") {
		kind, _ := p.Attributes().Get("gen_ai.token.type")
		want := map[string]float64{"input": 7, "output": 3}[kind.Str()] * float64(p.Count())
		if p.Sum() != want || p.Count() == 0 || p.BucketCounts().Len() != p.ExplicitBounds().Len()+1 || p.ExplicitBounds().At(13) != 67108864 {
			t.Errorf("tokens %s: count %d, sum %v, bounds %v", kind.Str(), p.Count(), p.Sum(), p.ExplicitBounds().AsRaw())
		}
	}
	for _, td := range c.spans.AllTraces() {
		text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
		if err != nil || strings.Contains(string(text), "whisper") || strings.Contains(string(text), "weigh it") || strings.Contains(string(text), "hunter2") {
			t.Errorf("%v, or what the run works on is in %s", err, text)
		}
	}
	if !c.has("starling.runs.started", pmetric.MetricTypeSum) || !c.has("starling.runs", pmetric.MetricTypeGauge) {
		t.Error("there are no metrics of runs")
	}
}

func (c *collector) all() (list []ptrace.Span) {
	for _, td := range c.spans.AllTraces() {
		for _, rs := range td.ResourceSpans().All() {
			if name, _ := rs.Resource().Attributes().Get("service.name"); name.Str() != "starling" {
				list = append(list, ptrace.NewSpan()) // which the judge refuses
			}
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					list = append(list, s)
				}
			}
		}
	}
	return list
}

func (c *collector) each(fn func(pmetric.Metric)) {
	for _, md := range c.metrics.AllMetrics() {
		for _, rm := range md.ResourceMetrics().All() {
			for _, sm := range rm.ScopeMetrics().All() {
				for _, m := range sm.Metrics().All() {
					fn(m)
				}
			}
		}
	}
}

func (c *collector) has(name string, kind pmetric.MetricType) (found bool) {
	c.each(func(m pmetric.Metric) { found = found || m.Name() == name && m.Type() == kind })
	return found
}

// points are those of a histogram that has counted all that there is.
func (c *collector) points(name string) (list []pmetric.HistogramDataPoint) {
	c.each(func(m pmetric.Metric) {
		if m.Name() == name && m.Type() == pmetric.MetricTypeHistogram && m.Histogram().AggregationTemporality() == pmetric.AggregationTemporalityCumulative {
			for _, p := range m.Histogram().DataPoints().All() {
				list = append(list, p)
			}
		}
	})
	return list
}
