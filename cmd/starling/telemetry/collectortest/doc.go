// Package collectortest has a real collector of OpenTelemetry take what starling tells it: the
// receiver that every distribution of the Collector has, go.opentelemetry.io/collector. It is a
// module of its own, so that nobody who builds starling needs the Collector, and has tests only:
//
//	go -C cmd/starling/telemetry/collectortest test ./...
package collectortest
