package engine_test

import (
	"testing"
	"time"

	"starling/runtime"
	"starling/runtime/query"
)

func TestDiagram(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	step := func(address, kind, agent, status string, attempts int, took time.Duration) runtime.Step {
		s := runtime.Step{Step: address, Kind: kind, Agent: agent, Status: status, Attempts: attempts, StartedAt: at}
		if took > 0 {
			end := at.Add(took)
			s.EndedAt = &end
		}
		return s
	}
	r := &runtime.Run{Script: `a "b" <c>#1.star`, Status: runtime.Suspended}
	got := query.Diagram(r, &runtime.StepPage{Steps: []runtime.Step{
		step("plan", "agent", "plan", "ok", 1, 1500*time.Millisecond),
		step("parallel/%E8%AA%9E%20a/build", "agent", "claude", "error", 3, 2*time.Second),
		step("parallel/b/parallel/0/x", "sh", "", "withdrawn", 0, time.Second),
		step("parallel/b/parallel/1/x", "sh", "", "running", 1, 0),
		step("parallel#2/a/child", "run", "", "ok", 0, time.Minute),
		step("parallel#2/a/child#2", "run", "", "degraded", 0, time.Minute),
		step("ship", "gate", "", "waiting", 0, 0),
	}})
	want := `flowchart TD
  start(["a #quot;b#quot; #lt;c#gt;#35;1.star"])
  n0["plan<br/>ok, 1.5s"]:::done
  start --> n0
  subgraph n1["parallel"]
    subgraph n2["語 a"]
      n3["build<br/>claude<br/>error, 3 attempts, 2s"]:::bad
    end
    subgraph n4["b"]
      subgraph n5["parallel"]
        subgraph n6["0"]
          n7["x<br/>withdrawn"]:::gone
        end
        subgraph n8["1"]
          n9["x<br/>running"]:::busy
        end
      end
    end
  end
  n0 --> n1
  subgraph n10["parallel#35;2"]
    subgraph n11["a"]
      n12[["child<br/>ok, 1m0s"]]:::done
      n13[["child#35;2<br/>degraded, 1m0s"]]:::bad
      n12 --> n13
    end
  end
  n1 --> n10
  n14{{"ship<br/>waiting"}}:::open
  n10 --> n14
  stop(["suspended"]):::open
  n14 --> stop
  classDef done fill:#d8f5d8,stroke:#2e7d32,color:#111
  classDef open fill:#fff3c4,stroke:#b7791f,color:#111
  classDef busy fill:#d6e9ff,stroke:#1f5fa8,color:#111
  classDef bad fill:#ffd9d6,stroke:#b3261e,color:#111
  classDef gone fill:#eeeeee,stroke:#777777,color:#111
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
