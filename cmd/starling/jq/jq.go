// Package jq picks from JSON documents what a jq filter means (jqlang.org/manual), as --jq does.
package jq

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/itchyny/gojq"

	"starling/runtime"
)

// Filter is a filter that was read.
type Filter struct{ code *gojq.Code }

// Parse reads a filter.
func Parse(text string) (*Filter, error) {
	q, err := gojq.Parse(text)
	if err != nil {
		help := ""
		if at := (&gojq.ParseError{}); errors.As(err, &at) {
			help = "the mistake is at " + text[:min(at.Offset, len(text))] + " <-"
		}
		return nil, runtime.Refuse(runtime.ErrUsage, help, "--jq: %v", err)
	}
	code, err := gojq.Compile(q)
	if err != nil {
		return nil, runtime.Refusef(runtime.ErrUsage, "--jq: %v", err)
	}
	return &Filter{code}, nil
}

// Print writes what a filter picks from a document, a line each, to w as JSON. Where raw is given
// texts are written there as they are.
func (f *Filter) Print(document []byte, w, raw io.Writer) error {
	var v any
	if err := json.Unmarshal(document, &v); err != nil {
		return err
	}
	for found := f.code.Run(v); ; {
		v, ok := found.Next()
		if !ok {
			return nil
		}
		if err, failed := v.(error); failed {
			if halt := (&gojq.HaltError{}); errors.As(err, &halt) && halt.Value() == nil {
				return nil
			}
			return runtime.Refusef(runtime.ErrUsage, "--jq: %v", err)
		}
		if err := Write(v, w, raw); err != nil {
			return err
		}
	}
}

// Write writes a value on a line: a text as it is to raw, if that is given, anything else as JSON.
func Write(v any, w, raw io.Writer) error {
	if text, ok := v.(string); ok && raw != nil {
		_, err := io.WriteString(raw, text+"\n")
		return err
	}
	text, err := gojq.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}
