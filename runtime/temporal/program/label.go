package program

import (
	"sync"

	"starling/lang/effect"
	"starling/stdlib/project"
)

// labels knows which queues the agents of projects name, for the project that it was asked of last.
type labels struct {
	mu      sync.Mutex // guards what follows
	project string
	queues  map[string]string // of agents
}

// of is the queue of the workers for an agent, "" for those that carry the run.
func (l *labels) of(s *effect.Settings, agent string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := string(s.Project); l.queues == nil || l.project != text {
		l.project, l.queues = text, map[string]string{}
		if f, err := project.Parse(s.ProjectFile, s.Project); err == nil { // else the agent is refused as unknown
			for _, a := range f.Agents {
				l.queues[a.Name] = a.Queue
			}
		}
	}
	return l.queues[agent]
}
