package watch

import (
	"context"
	"maps"
	"slices"
	"time"
)

// every is how long a look is put off at least.
const every = 200 * time.Millisecond

// Play is one thing that is played again and again.
type Play struct {
	Path   string
	Reach  *Reach // of the play to come, or the last one
	Passed bool   // the last one
}

// Host is who plays.
type Host struct {
	List func() ([]string, error)                                   // what there is to play
	Play func(context.Context, []*Play, []string) error             // plays some, because of changed files: none at first
	Rest func(plays []*Play, wrong error)                           // is told of all before nothing happens; wrong is why List has none
	Wait func(context.Context, time.Duration) (again bool, _ error) // waits; again tells that somebody wants all of it
}

// Loop plays everything, and then what has read a changed file, until the context or Play ends it.
func Loop(ctx context.Context, h Host) error {
	l := &loop{host: h, plays: map[string]*Play{}}
	seen := l.look()
	for {
		if stale, changed := l.stale(seen); len(stale) > 0 {
			if err := h.Play(ctx, stale, changed); err != nil {
				return err
			}
		}
		h.Rest(l.all(), seen.wrong)
		next, again, err := l.wait(ctx, seen)
		if err != nil {
			return err
		}
		if again {
			clear(l.plays)
		}
		seen = next
	}
}

type loop struct {
	host  Host
	plays map[string]*Play
}

// view is what one look has seen.
type view struct {
	tests []string
	wrong error // why there are none
	files map[string]stamp
}

func (v view) equal(o view) bool {
	return slices.Equal(v.tests, o.tests) && maps.Equal(v.files, o.files) && reason(v.wrong) == reason(o.wrong)
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (l *loop) look() view {
	v := view{files: map[string]stamp{}}
	v.tests, v.wrong = l.host.List()
	for _, p := range l.plays {
		for path := range p.Reach.files {
			if _, known := v.files[path]; !known {
				v.files[path] = stampOf(path)
			}
		}
	}
	return v
}

// stale are the plays that have read what has changed since, or that there were none of, with new
// reaches, and the files that have changed. What is gone is forgotten.
func (l *loop) stale(seen view) (stale []*Play, changed []string) {
	maps.DeleteFunc(l.plays, func(path string, _ *Play) bool { return !slices.Contains(seen.tests, path) })
	for _, path := range seen.tests {
		p := l.plays[path]
		if p == nil {
			p = &Play{Path: path}
			l.plays[path] = p
		} else if news := p.news(seen); len(news) > 0 {
			changed = append(changed, news...)
		} else {
			continue
		}
		p.Reach, p.Passed = &Reach{}, false
		stale = append(stale, p)
	}
	slices.Sort(changed)
	return stale, slices.Compact(changed)
}

// news are the files that are not as the play has found them.
func (p *Play) news(seen view) (changed []string) {
	for path, was := range p.Reach.files {
		if now, looked := seen.files[path]; looked && now != was {
			changed = append(changed, path)
		}
	}
	return changed
}

// wait looks until something has changed, and then until nothing does any more: whoever saves
// several files, or changes a branch, is not answered in the middle of it.
func (l *loop) wait(ctx context.Context, seen view) (next view, again bool, err error) {
	base := l.look() // with what has been played since
	pause := every
	for last := base; ; last = next {
		if again, err = l.host.Wait(ctx, pause); err != nil || again {
			return l.look(), again, err
		}
		began := time.Now()
		next = l.look()
		pause = max(every, 20*time.Since(began))
		if next.equal(last) && (!next.equal(base) || l.due(next)) {
			return next, false, nil
		}
	}
}

// due tells whether something has changed between a play and the first look after it.
func (l *loop) due(seen view) bool {
	for _, p := range l.plays {
		if len(p.news(seen)) > 0 {
			return true
		}
	}
	return false
}

// all are the plays in the order of their paths.
func (l *loop) all() []*Play {
	return slices.SortedFunc(maps.Values(l.plays), func(a, b *Play) int {
		return slices.Compare([]string{a.Path}, []string{b.Path})
	})
}
