package project

import (
	"fmt"
	"strings"
)

// prices reads [prices], of models by their names.
func (r *reader) prices(t table) []ModelPrice {
	var list []ModelPrice
	for _, model := range r.inOrder(t) {
		if !r.model(t.at(model), model) {
			continue
		}
		list = append(list, ModelPrice{model, r.priceAt(t, model)})
	}
	return list
}

// model refuses what names no models.
func (r *reader) model(path []string, name string) bool {
	if name != "" && !strings.Contains(strings.TrimSuffix(name, "*"), "*") {
		return true
	}
	r.refuse(path, fmt.Sprintf("%q", name),
		`the name of a model, or the beginning of some such as "claude-opus-*"`, "")
	return false
}

// priceAt reads {input, output, cached}; the zero Price where there is none.
func (r *reader) priceAt(t table, key string) Price {
	price, ok := r.table(t, key)
	if !ok {
		return Price{}
	}
	r.onlyKeys(price, "input", "output", "cached")
	p := Price{r.dollars(price, "input"), r.dollars(price, "output"), r.dollars(price, "cached")}
	if p.Input == 0 && p.Output == 0 && p.Cached > 0 {
		r.refuse(price.at("cached"), show(price.values["cached"]), "a price of input beside it", "")
	}
	return p
}

// dollars reads a number from 0 on.
func (r *reader) dollars(t table, key string) float64 {
	v, given := t.values[key]
	n, ok := v.(float64)
	if whole, isInt := v.(int64); isInt {
		n, ok = float64(whole), true
	}
	if given && (!ok || !(n >= 0 && n <= 1e6)) {
		r.refuse(t.at(key), show(v), "US dollars per million tokens", "")
		return 0
	}
	return n
}
