package site

import _ "embed" // of what every page uses

//go:embed style.css
var style string

//go:embed search.js
var script string
