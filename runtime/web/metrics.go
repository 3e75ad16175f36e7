package web

import (
	"fmt"
	"net/http"
	goruntime "runtime"
	"strconv"
	"strings"
	"time"

	"starling/runtime/metrics"
)

// GET /metrics is for Prometheus, in its text format 0.0.4, as its page "Exposition formats" has
// it.

// typeMetrics is the content type of the format.
const typeMetrics = "text/plain; version=0.0.4; charset=utf-8"

// labelEscapes are those of the format in the value of a label.
var labelEscapes = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)

// writeFamily writes one metric.
func writeFamily(b *strings.Builder, f metrics.Family) {
	fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", f.Name, f.Help, f.Name, f.Kind)
	for _, s := range f.Samples {
		b.WriteString(f.Name)
		if s.Label != "" {
			b.WriteString("{" + s.Label + `="` + labelEscapes.Replace(strings.ToValidUTF8(s.Of, "\uFFFD")) + `"}`)
		}
		b.WriteString(" " + strconv.FormatFloat(s.Value, 'g', -1, 64) + "\n")
	}
}

// metrics answers who may read.
func (s *server) metrics(w http.ResponseWriter, r *http.Request) error {
	list, err := s.numbers.Read(r.Context())
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range append(list, s.process()...) {
		writeFamily(&b, f)
	}
	return s.budget.answer(w, typeMetrics, []byte(b.String()))
}

// process are the metrics of this process, by the names that Prometheus' clients give them.
func (s *server) process() []metrics.Family {
	var memory goruntime.MemStats
	goruntime.ReadMemStats(&memory)
	one := func(name, help string, value float64) metrics.Family {
		return metrics.Family{Name: name, Kind: metrics.Gauge, Help: help, Samples: []metrics.Sample{{Value: value}}}
	}
	return []metrics.Family{
		{Name: "starling_build_info", Kind: metrics.Gauge, Help: "1, with the version of the program.", Samples: []metrics.Sample{{Label: "version", Of: s.options.Build, Value: 1}}},
		one("process_start_time_seconds", "When this server began to serve.", float64(s.began.UnixMicro())/float64(time.Second/time.Microsecond)),
		one("go_goroutines", "Goroutines that exist.", float64(goruntime.NumGoroutine())),
		one("go_memstats_heap_alloc_bytes", "Bytes of the heap in use.", float64(memory.HeapAlloc)),
	}
}
