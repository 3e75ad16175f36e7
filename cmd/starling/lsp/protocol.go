package lsp

import (
	"encoding/json"

	"starling/lang/diagnostic"
)

// The types of the protocol that this server uses, as version 3.17 has them, and no more of their
// fields.

type position struct {
	Line      int `json:"line"`      // from 0
	Character int `json:"character"` // from 0, in UTF-16 units
}

type span struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   string `json:"uri"`
	Range span   `json:"range"`
}

type textDocument struct {
	URI     string `json:"uri"`
	Version int    `json:"version"`
	Text    string `json:"text"`
}

type contentChange struct {
	Range *span  `json:"range"`
	Text  string `json:"text"`
}

// params are the parameters of all requests and notifications that the server knows. Each uses some
// of them.
type params struct {
	RootURI          string `json:"rootUri"`
	WorkspaceFolders []struct {
		URI string `json:"uri"`
	} `json:"workspaceFolders"`
	TextDocument   textDocument    `json:"textDocument"`
	ContentChanges []contentChange `json:"contentChanges"`
	Position       position        `json:"position"`
	Range          span            `json:"range"`
	NewName        string          `json:"newName"`
	Context        struct {
		IncludeDeclaration bool        `json:"includeDeclaration"`
		Diagnostics        []diagnosed `json:"diagnostics"`
	} `json:"context"`
}

// diagnosed is a diagnostic as editors show it.
type diagnosed struct {
	Range    span   `json:"range"`
	Severity int    `json:"severity"`
	Code     string `json:"code,omitempty"`
	Source   string `json:"source"`
	Message  string `json:"message"`
	Tags     []int  `json:"tags,omitempty"`

	fix diagnostic.Edit // what mends it
}

type published struct {
	URI         string      `json:"uri"`
	Version     int         `json:"version"`
	Diagnostics []diagnosed `json:"diagnostics"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

func markdown(value string) *markup { return &markup{"markdown", value} }

type hover struct {
	Contents *markup `json:"contents"`
	Range    span    `json:"range"`
}

type textEdit struct {
	Range   span   `json:"range"`
	NewText string `json:"newText"`
}

type completionItem struct {
	Label         string    `json:"label"`
	Kind          int       `json:"kind"`
	Detail        string    `json:"detail,omitempty"`
	Documentation *markup   `json:"documentation,omitempty"`
	SortText      string    `json:"sortText,omitempty"`
	TextEdit      *textEdit `json:"textEdit"`
}

type completionList struct {
	IsIncomplete bool             `json:"isIncomplete"`
	Items        []completionItem `json:"items"`
}

// The kinds of completions.
const (
	kindMethod     = 2
	kindFunction   = 3
	kindField      = 5
	kindVariable   = 6
	kindModule     = 9
	kindValue      = 12
	kindKeyword    = 14
	kindFile       = 17
	kindEnumMember = 20
	kindConstant   = 21

	kindTypeParameter = 25
)

type parameterInformation struct {
	Label         string  `json:"label"`
	Documentation *markup `json:"documentation,omitempty"`
}

type signatureInformation struct {
	Label         string                 `json:"label"`
	Documentation *markup                `json:"documentation,omitempty"`
	Parameters    []parameterInformation `json:"parameters"`
}

type signatureHelp struct {
	Signatures      []signatureInformation `json:"signatures"`
	ActiveSignature int                    `json:"activeSignature"`
	ActiveParameter int                    `json:"activeParameter"`
}

type documentSymbol struct {
	Name           string           `json:"name"`
	Detail         string           `json:"detail,omitempty"`
	Kind           int              `json:"kind"`
	Range          span             `json:"range"`
	SelectionRange span             `json:"selectionRange"`
	Children       []documentSymbol `json:"children,omitempty"`
}

// The kinds of symbols.
const (
	symbolFunction = 12
	symbolVariable = 13
	symbolConstant = 14
)

type foldingRange struct {
	StartLine int    `json:"startLine"`
	EndLine   int    `json:"endLine"`
	Kind      string `json:"kind,omitempty"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}

type codeAction struct {
	Title       string         `json:"title"`
	Kind        string         `json:"kind"`
	Diagnostics []diagnosed    `json:"diagnostics,omitempty"`
	IsPreferred bool           `json:"isPreferred,omitempty"`
	Edit        *workspaceEdit `json:"edit"`
}

type inlayHint struct {
	Position    position `json:"position"`
	Label       string   `json:"label"`
	Kind        int      `json:"kind"`
	PaddingLeft bool     `json:"paddingLeft"`
}

type command struct {
	Title     string   `json:"title"`
	Command   string   `json:"command"`
	Arguments []string `json:"arguments"`
}

type codeLens struct {
	Range   span    `json:"range"`
	Command command `json:"command"`
}

type semanticTokens struct {
	Data []int `json:"data"`
}

// capabilities are what the server can do, as it says in answer to initialize.
func capabilities(version string) json.RawMessage {
	legend := map[string]any{"tokenTypes": tokenTypes(), "tokenModifiers": []string{"defaultLibrary"}}
	answer := map[string]any{
		"serverInfo": map[string]string{"name": "starling", "version": version},
		"capabilities": map[string]any{
			"positionEncoding":           "utf-16",
			"textDocumentSync":           map[string]any{"openClose": true, "change": 2, "save": true},
			"completionProvider":         map[string]any{"triggerCharacters": []string{".", "\"", "'", "/", "@"}},
			"hoverProvider":              true,
			"signatureHelpProvider":      map[string]any{"triggerCharacters": []string{"(", ","}},
			"definitionProvider":         true,
			"referencesProvider":         true,
			"renameProvider":             map[string]any{"prepareProvider": true},
			"documentSymbolProvider":     true,
			"foldingRangeProvider":       true,
			"documentFormattingProvider": true,
			"codeActionProvider":         map[string]any{"codeActionKinds": []string{"quickfix"}},
			"inlayHintProvider":          true,
			"codeLensProvider":           map[string]any{},
			"semanticTokensProvider":     map[string]any{"legend": legend, "full": true},
		},
	}
	text, _ := json.Marshal(answer) // plain data
	return text
}
