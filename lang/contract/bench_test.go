package contract_test

import (
	"fmt"
	"testing"

	"go.starlark.net/starlark"

	"starling/lang/contract"
)

const findings = `
type Severity = "CRITICAL" | "HIGH" | "MEDIUM" | "LOW"
{
  findings: [{
    id: /J-[0-9]{3}/, severity: Severity, location: {file: path, line: int(1..), column: int?},
    issue: string(1..), suggestion: string?, code_snippet: string?,
  }],
  notes: string @agent,               # audience: hidden from people
  threshold: number(0..1) = 0.85,     # default
  *: any,                             # open record; closed without it
}`

func BenchmarkParse(b *testing.B) {
	b.Run("inputs", func(b *testing.B) {
		for b.Loop() {
			mustParse(b, "{data_url: url, threshold: number = 0.85}")
		}
	})
	b.Run("findings", func(b *testing.B) {
		for b.Loop() {
			mustParse(b, findings)
		}
	})
}

// The time an element takes must not depend on how many there are.
func BenchmarkCheck(b *testing.B) {
	c := mustParse(b, findings)
	for _, n := range []int{10, 100, 1000, 10000} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			v := report(b, n)
			for b.Loop() {
				if _, bad := c.Check(v); bad != nil {
					b.Fatal(bad)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
		})
	}
}

func BenchmarkJSON(b *testing.B) {
	text, err := contract.ToJSON(report(b, 1000))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := contract.FromJSON(text); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write", func(b *testing.B) {
		v := report(b, 1000)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := contract.ToJSON(v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// report is a value of the contract findings.
func report(tb testing.TB, n int) starlark.Value {
	elems := make([]byte, 0, 100*n)
	for i := range n {
		if i > 0 {
			elems = append(elems, ',')
		}
		elems = fmt.Appendf(elems, `{"id": "J-%03d", "severity": "LOW", "location": {"file": "src/main.go", "line": %d}, "issue": "unused"}`, i%1000, i+1)
	}
	v, err := contract.FromJSON([]byte(`{"findings": [` + string(elems) + `], "notes": ""}`))
	if err != nil {
		tb.Fatal(err)
	}
	return v
}
