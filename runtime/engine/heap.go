package engine

// heap is a binary min-heap whose elements know their places, so that any of them can be moved or taken out. The zero heap is empty.
type heap[E ranked[E]] struct{ list []E }

// ranked is an element of a heap. Its place holds one more than its index, so that 0 means that it is in none.
type ranked[E any] interface {
	before(E) bool
	place() *int
}

// first is the least element; the heap must not be empty.
func (h *heap[E]) first() E { return h.list[0] }

func (h *heap[E]) len() int { return len(h.list) }

// push adds an element, or puts one whose rank has changed where it belongs now.
func (h *heap[E]) push(e E) {
	if *e.place() == 0 {
		h.list = append(h.list, e)
		*e.place() = len(h.list)
	}
	h.down(h.up(*e.place() - 1))
}

// remove takes an element out; one that is not in the heap stays out.
func (h *heap[E]) remove(e E) {
	at, last := *e.place()-1, len(h.list)-1
	if at < 0 {
		return
	}
	h.swap(at, last)
	var none E
	h.list[last] = none
	h.list = h.list[:last]
	*e.place() = 0
	if at < last {
		h.down(h.up(at))
	}
}

func (h *heap[E]) swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	*h.list[i].place(), *h.list[j].place() = i+1, j+1
}

func (h *heap[E]) up(i int) int {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.list[i].before(h.list[parent]) {
			break
		}
		h.swap(i, parent)
		i = parent
	}
	return i
}

func (h *heap[E]) down(i int) {
	for {
		least := 2*i + 1
		if least >= len(h.list) {
			return
		}
		if right := least + 1; right < len(h.list) && h.list[right].before(h.list[least]) {
			least = right
		}
		if !h.list[least].before(h.list[i]) {
			return
		}
		h.swap(i, least)
		i = least
	}
}
