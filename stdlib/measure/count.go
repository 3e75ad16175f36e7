package measure

// The lines of a file are counted as scc counts them: one pass, with a state at each byte. It is
// scc's own machine (processor/workers.go of v3.4.0), and a test plays both on the same texts: to
// take the package itself brought json-iterator and a second YAML along.

// tokenKind is what a token begins.
type tokenKind int

const (
	noToken tokenKind = iota
	quoteToken
	commentToken
	blockToken
	branchToken
)

// token is a node of a tree of tokens, by their bytes.
type token struct {
	kind tokenKind
	end  string // of a quote or a block
	next map[byte]*token
}

func (t *token) insert(text string, kind tokenKind, end string) {
	for i := range len(text) {
		if t.next == nil {
			t.next = map[byte]*token{}
		}
		if t.next[text[i]] == nil {
			t.next[text[i]] = &token{}
		}
		t = t.next[text[i]]
	}
	t.kind = kind
	if end != "" {
		t.end = end
	}
}

// match follows a text as far as it goes. skip is how far behind its first byte that is; what has
// an end counts also where more follows.
func (t *token) match(text []byte) (kind tokenKind, skip int, end string) {
	var closed *token
	closedAt := 0
	for i, c := range text {
		skip = i
		next := t.next[c]
		if next == nil {
			break
		}
		if t = next; t.end != "" {
			closed, closedAt = t, i
		}
	}
	if t.end == "" && closed != nil {
		return closed.kind, closedAt, closed.end
	}
	return t.kind, skip, t.end
}

// tokens are those of a language.
type tokens struct {
	all, blocks, quotes token
	mask                byte // has the bits of every byte with which a token begins
	language            *language
}

func newTokens(l *language) *tokens {
	t := &tokens{language: l}
	add := func(text string, kind tokenKind, end string) {
		t.mask |= text[0]
		t.all.insert(text, kind, end)
	}
	for _, text := range l.Branches {
		add(text, branchToken, "")
	}
	for _, text := range l.Comments {
		add(text, commentToken, "")
	}
	for _, b := range l.Blocks {
		add(b[0], blockToken, b[1])
		t.blocks.insert(b[0], blockToken, b[1])
	}
	for _, q := range l.Quotes {
		add(q.Start, quoteToken, q.End)
		t.quotes.insert(q.Start, quoteToken, q.End)
	}
	return t
}

// lineState is what a line holds so far.
type lineState int

const (
	blank lineState = iota
	inCode
	inComment
	behindCode // a comment
	inBlock
	inBlockBehindCode
	behindBlock // nothing since
	inText
	inDocString
)

// counter counts the lines of a file. A method that reads takes the place of a byte, and gives the
// one that it has come to.
type counter struct {
	text   []byte
	tokens *tokens
	last   int // byte

	state  lineState
	end    string   // of the text that has begun
	plain  bool     // a backslash in it is a backslash
	ends   []string // of the blocks that have begun, the innermost last
	binary bool
	code   Code
}

const binaryWithin = 10_000 // bytes in which a zero makes a file binary

func (n *counter) count() {
	for at := n.begin(); at < len(n.text); at++ {
		if !isBlank(n.text[at]) {
			at = n.read(at)
		}
		if at >= len(n.text) || n.binary && at < binaryWithin {
			return
		}
		if n.text[at] == '\n' || at >= n.last {
			n.line()
		}
	}
}

// begin is where the text begins: behind a mark of UTF-8.
func (n *counter) begin() int {
	if len(n.text) >= 3 && string(n.text[:3]) == "\uFEFF" {
		return 3
	}
	return 0
}

func (n *counter) read(at int) int {
	switch n.state {
	case inCode:
		return n.readCode(at)
	case inText:
		return n.readText(at)
	case inDocString:
		return n.readDocString(at)
	case inBlock, inBlockBehindCode:
		return n.readBlock(at)
	case blank, behindBlock:
		return n.readFirst(at)
	}
	return at
}

// line ends a line.
func (n *counter) line() {
	switch n.state {
	case inCode, inText, behindCode, inBlockBehindCode:
		n.code.Code++
	case inComment, inBlock, behindBlock, inDocString:
		n.code.Comments++
	case blank:
		n.code.Blank++
	}
	switch n.state {
	case inText, inDocString, inBlock:
	case inBlockBehindCode:
		n.state = inBlock
	default:
		n.state = blank
	}
}

// readFirst reads what a line begins with.
func (n *counter) readFirst(at int) int {
	kind, skip, end := n.tokens.all.match(n.text[at:])
	switch kind {
	case blockToken:
		if n.opens(end) {
			n.state = inBlock
			return at + skip - 1
		}
	case commentToken:
		n.state = inComment
	case quoteToken:
		return n.beginText(at, end)
	case branchToken:
		n.state = inCode
		n.branch(at)
	default:
		n.state = inCode
	}
	return at
}

// opens begins a block, unless it is within one and the language has no such blocks.
func (n *counter) opens(end string) bool {
	if len(n.ends) > 0 && !n.tokens.language.Nested {
		return false
	}
	n.ends = append(n.ends, end)
	return true
}

func (n *counter) branch(at int) {
	if at == 0 || isBlank(n.text[at-1]) {
		n.code.Complexity++
	}
}

// beginText begins a text, or a comment in its form, at the beginning of a line.
func (n *counter) beginText(at int, end string) int {
	n.end, n.state = end, inText
	at, n.plain = n.special(at)
	for _, q := range n.tokens.language.Quotes {
		if q.End == end && q.DocString {
			n.state = inDocString
		}
	}
	return at
}

// special passes over what begins a text in which a backslash may be a backslash.
func (n *counter) special(at int) (behind int, plain bool) {
	for _, q := range n.tokens.language.Quotes {
		if (q.DocString || q.IgnoreEscape) && hasPrefix(n.text, at, q.Start) {
			plain = true
			at += len(q.Start)
		}
	}
	return at, plain
}

func (n *counter) readCode(at int) int {
	for i := at; i < n.last; i++ {
		at = i
		c := n.text[i]
		if c == '\n' {
			return i
		}
		if c == 0 && i < binaryWithin {
			n.binary = true
			return i
		}
		if c&n.tokens.mask != c {
			continue
		}
		if to, done := n.readToken(i); done {
			return to
		}
	}
	return at
}

// readToken reads what stands at a place in code. It is done where that is no more code.
func (n *counter) readToken(at int) (to int, done bool) {
	kind, skip, end := n.tokens.all.match(n.text[at:])
	switch kind {
	case quoteToken:
		n.end = end
		if at, n.plain = n.special(at); n.text[at-1] != '\\' {
			n.state = inText
		}
		return at, true
	case commentToken:
		n.state = behindCode
		return at, true
	case blockToken:
		if n.opens(end) {
			n.state = inBlockBehindCode
			return at + skip - 1, true
		}
	case branchToken:
		n.branch(at)
	}
	return at, false
}

func (n *counter) readText(at int) int {
	for i := at; i < n.last; i++ {
		at = i
		if n.text[i] == '\n' {
			return i
		}
		if (n.plain || !n.escaped(i)) && n.ended(i, n.end) {
			n.state = inCode
			return i
		}
	}
	return at
}

// escaped tells whether an odd number of backslashes stands before a place.
func (n *counter) escaped(at int) bool {
	count := 0
	for i := at - 1; i > 0 && n.text[i] == '\\'; i-- {
		count++
	}
	return count%2 == 1
}

// readDocString ends as a comment where nothing but blanks follows in the line.
func (n *counter) readDocString(at int) int {
	for i := at; i < n.last; i++ {
		at = i
		if n.text[i] == '\n' {
			return i
		}
		if n.text[i-1] == '\\' {
			continue
		}
		if kind, _, _ := n.tokens.quotes.match(n.text[i:]); kind != noToken {
			n.state = n.behindDocString(i + len(n.end))
			return i
		}
	}
	return at
}

func (n *counter) behindDocString(at int) lineState {
	for ; at <= n.last; at++ {
		if n.text[at] == '\n' {
			return inComment
		}
		if !isBlank(n.text[at]) {
			break
		}
	}
	return inCode
}

func (n *counter) readBlock(at int) int {
	for i := at; i < n.last; i++ {
		at = i
		if n.text[i] == '\n' {
			return i
		}
		if end := n.ends[len(n.ends)-1]; n.ended(i, end) {
			n.ends = n.ends[:len(n.ends)-1]
			n.closeBlock()
			return i + len(end) - 1
		}
		if n.tokens.language.Nested {
			if kind, skip, end := n.tokens.blocks.match(n.text[i:]); kind != noToken {
				n.ends = append(n.ends, end)
				return i + skip - 1
			}
		}
	}
	return at
}

func (n *counter) closeBlock() {
	switch {
	case len(n.ends) > 0:
	case n.state == inBlockBehindCode:
		n.state = inCode
	default:
		n.state = behindBlock
	}
}

// ended tells whether an end stands at a place, before the last byte.
func (n *counter) ended(at int, end string) bool {
	return at+len(end) <= n.last && hasPrefix(n.text, at, end)
}

func hasPrefix(text []byte, at int, prefix string) bool {
	return len(text) >= at+len(prefix) && string(text[at:at+len(prefix)]) == prefix
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
