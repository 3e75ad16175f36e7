// Package otlp tells a collector what has happened, in the protocol of OpenTelemetry (OTLP 1.x over
// HTTP): spans and metrics, as protobuf or as JSON.
//
// A document is a [Spans] or a [Metrics]. Its fields have the names that OTLP's JSON encoding gives
// them, and in the tag pb the numbers that stand in its .proto files, from which the binary form
// follows: opentelemetry/proto/collector/{trace,metrics}/v1, and what those import. So both forms
// say the same. The official SDK is not used: it exports what is measured in this process, over a
// pipeline of its own; here whole documents are made of what the journal has.
package otlp
