// Package heap is a binary heap whose elements can be moved and taken out at once: each knows its
// place.
//
// A heap is used by one goroutine at a time.
package heap

// Heap is a binary min-heap whose elements know their places, so that any of them can be moved or
// taken out. The zero heap is empty.
type Heap[E ranked[E]] struct{ List []E }

// ranked is an element of a heap. Its place holds one more than its index, so that 0 means that it
// is in none.
type ranked[E any] interface {
	Before(E) bool
	Place() *int
}

// First is the least element; the heap must not be empty.
func (h *Heap[E]) First() E { return h.List[0] }

// Len is how many elements there are.
func (h *Heap[E]) Len() int { return len(h.List) }

// Push adds an element, or puts one whose rank has changed where it belongs now.
func (h *Heap[E]) Push(e E) {
	if *e.Place() == 0 {
		h.List = append(h.List, e)
		*e.Place() = len(h.List)
	}
	h.down(h.up(*e.Place() - 1))
}

// Remove takes an element out; one that is not in the heap stays out.
func (h *Heap[E]) Remove(e E) {
	at, last := *e.Place()-1, len(h.List)-1
	if at < 0 {
		return
	}
	h.swap(at, last)
	var none E
	h.List[last] = none
	h.List = h.List[:last]
	*e.Place() = 0
	if at < last {
		h.down(h.up(at))
	}
}

func (h *Heap[E]) swap(i, j int) {
	h.List[i], h.List[j] = h.List[j], h.List[i]
	*h.List[i].Place(), *h.List[j].Place() = i+1, j+1
}

func (h *Heap[E]) up(i int) int {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.List[i].Before(h.List[parent]) {
			break
		}
		h.swap(i, parent)
		i = parent
	}
	return i
}

func (h *Heap[E]) down(i int) {
	for {
		least := 2*i + 1
		if least >= len(h.List) {
			return
		}
		if right := least + 1; right < len(h.List) && h.List[right].Before(h.List[least]) {
			least = right
		}
		if !h.List[least].Before(h.List[i]) {
			return
		}
		h.swap(i, least)
		i = least
	}
}
