package langtest

import "math/rand/v2"

// Choices are the decisions that make one program out of all. They come from a seed, or from bytes
// that a fuzzer mutates. Bytes that have run out say zero, which always means the simplest: the
// program comes to its end.
type Choices struct {
	random *rand.Rand
	bytes  []byte
}

// Seed gives the choices of a seed, without end.
func Seed(seed uint64) *Choices {
	return &Choices{random: rand.New(rand.NewPCG(seed, 0x57a12))}
}

// Bytes gives the choices that bytes say.
func Bytes(data []byte) *Choices { return &Choices{bytes: data} }

// below chooses a number from 0 to n-1. n is at most 65,536.
func (c *Choices) below(n int) int {
	if n <= 1 {
		return 0
	}
	if c.random != nil {
		return c.random.IntN(n)
	}
	v := int(c.next())
	if n > 256 {
		v = v<<8 | int(c.next())
	}
	return v % n
}

func (c *Choices) next() byte {
	if len(c.bytes) == 0 {
		return 0
	}
	b := c.bytes[0]
	c.bytes = c.bytes[1:]
	return b
}

// between chooses a number from lo to hi.
func (c *Choices) between(lo, hi int) int { return lo + c.below(hi-lo+1) }

// once is true one time in n.
func (c *Choices) once(n int) bool { return c.below(n) == n-1 && n > 0 }

// pick chooses an element.
func pick[T any](c *Choices, list []T) T { return list[c.below(len(list))] }
