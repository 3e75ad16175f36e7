package measure

// WithoutQuotes is a source as it is counted.
var WithoutQuotes = withoutQuotes
