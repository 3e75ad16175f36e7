package agent

import (
	"math"
	"sync"

	"go.starlark.net/starlark"

	"starling/lang/effect"
	"starling/stdlib/project"
)

// price is in millionths of a US dollar per million tokens; 0 is not known.
type price struct {
	input, output int64
	cached        int64 // 0 is as input
}

func priceOf(p project.Price) price {
	micro := func(dollars float64) int64 { return int64(math.Round(dollars * 1e6)) }
	return price{micro(p.Input), micro(p.Output), micro(p.Cached)}
}

// cost is what tokens cost, in US dollars; nil when no price is known, or no tokens are. What came
// from a cache is part of the input.
func (p price) cost(u usage) *float64 {
	if p == (price{}) || u == (usage{}) {
		return nil
	}
	cached := min(u.cached, u.input)
	if p.cached == 0 {
		p.cached = p.input
	}
	usd := (float64(u.input-cached)*float64(p.input) + float64(cached)*float64(p.cached) +
		float64(u.output)*float64(p.output)) / 1e12
	return &usd
}

// value is the price in dollars per million tokens, None where it is not known.
func (p price) value() starlark.Value {
	if p == (price{}) {
		return starlark.None
	}
	d := record("input", starlark.Float(float64(p.input)/1e6), "output", starlark.Float(float64(p.output)/1e6))
	if p.cached > 0 {
		_ = d.SetKey(starlark.String("cached"), starlark.Float(float64(p.cached)/1e6)) // a fresh dict
	}
	return d
}

// price is what the candidate's tokens cost by its own price, else by the project's for its model.
func (c Candidate) price(p *project.File) price {
	if c.Price != (price{}) {
		return c.Price
	}
	of, _ := p.PriceOf(c.Model)
	return priceOf(of)
}

// pricing tells of an attempt's usage which model served and what it cost. It is used concurrently.
type pricing struct {
	candidate Candidate
	prices    func() *project.File // those of the run's project, read when there is something to price

	mu    sync.Mutex
	model string // as the program tells it, before that as the project says
}

func newPricing(s *effect.Settings, c Candidate) *pricing {
	return &pricing{candidate: c, model: c.Model, prices: sync.OnceValue(func() *project.File {
		f, fault := projectOf(s)
		if fault != nil {
			return &project.File{} // it was read before
		}
		return f
	})}
}

// attempt is one whose usage is told with what it costs.
func (p *pricing) attempt(a *effect.Attempt) *effect.Attempt {
	with := *a
	with.Emit = func(kind string, data starlark.Value) {
		switch kind {
		case "session":
			p.serves(effect.ViewOf(data).Text("model"))
		case "usage":
			data = p.priced(data)
		}
		a.Emit(kind, data)
	}
	return &with
}

// serves notes which model a program says that it uses, and returns the last that it has said.
func (p *pricing) serves(model string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.model = firstOf(clip(model), p.model)
	return p.model
}

// priced adds to what a program tells of its usage the model and, where it tells tokens and no
// cost, what they cost. The cost that it tells itself is claimed.
func (p *pricing) priced(told starlark.Value) starlark.Value {
	d, ok := told.(*starlark.Dict)
	if !ok || d.Len() == 0 {
		return told
	}
	v := effect.ViewOf(d)
	served := p.candidate
	if served.Model = p.serves(v.Text("model")); served.Model != "" {
		d = withKey(d, "model", starlark.String(served.Model))
	}
	if v.Has("usd") {
		return withKey(d, "claimed", starlark.True)
	}
	tokens := usage{max(0, v.Int("input_tokens")), max(0, v.Int("output_tokens")), max(0, v.Int("cached_tokens"))}
	if tokens == (usage{}) {
		return d
	}
	if cost := served.price(p.prices()).cost(tokens); cost != nil {
		d = withKey(d, "usd", starlark.Float(*cost))
	}
	return d
}
