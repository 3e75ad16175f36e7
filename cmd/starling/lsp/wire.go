package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxMessage bounds a message in bytes: a file of the language has at most a megabyte, and JSON can
// make six of it.
const maxMessage = 64 << 20

// wire carries messages: a header with their length, an empty line, and JSON.
type wire struct {
	in  *bufio.Reader
	out io.Writer
}

// errBroken is a stream in which the next message cannot be found any more.
var errBroken = errors.New("the stream has no header of the Language Server Protocol")

// read gives the next message. An error of JSON is a jsonrpc.Error, after which reading goes on.
func (w *wire) read() (jsonrpc.Message, error) {
	var header textproto.MIMEHeader
	for len(header) == 0 { // an empty line may precede it
		var err error
		if header, err = textproto.NewReader(w.in).ReadMIMEHeader(); err != nil {
			return nil, err
		}
	}
	n, err := strconv.Atoi(header.Get("Content-Length"))
	if err != nil || n < 0 || n > maxMessage {
		return nil, errBroken
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(w.in, body); err != nil {
		return nil, err
	}
	m, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: err.Error()}
	}
	return m, nil
}

func (w *wire) write(m jsonrpc.Message) error {
	body, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w.out, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

// notify tells the editor something.
func (w *wire) notify(method string, params any) error {
	text, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return w.write(&jsonrpc.Request{Method: method, Params: text})
}
