package cli

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
)

// beRaider is the program `raider SOCKET`: it connects to an owner, has another process inherit the
// connection, and ends. That asks for a token which may do everything, and prints the status.
func beRaider(args []string) {
	if args[0] == "inherited" {
		askAsHeir(os.NewFile(3, "connection"), os.NewFile(4, "life of the other"))
		return
	}
	c, err := net.Dial("unix", args[0])
	must(err)
	connection, err := c.(*net.UnixConn).File()
	must(err)
	life, _, err := os.Pipe() // its other end is open for as long as this process
	must(err)
	exe, err := os.Executable()
	must(err)
	heir := exec.Command(exe)
	heir.Args = []string{"raider", "inherited"}
	heir.Stdout, heir.Stderr, heir.ExtraFiles = os.Stdout, os.Stderr, []*os.File{connection, life}
	must(heir.Start())
}

func askAsHeir(connection, life *os.File) {
	io.Copy(io.Discard, life) // who connected has ended
	body := `{"name": "stolen", "can": ["all"]}`
	req, err := http.NewRequest("POST", "http://starling/token/add", strings.NewReader(body))
	must(err)
	req.Header.Set("Starling-Protocol", "1")
	must(req.Write(connection))
	answer, err := http.ReadResponse(bufio.NewReader(connection), req)
	must(err)
	os.Stdout.WriteString(answer.Status + "\n")
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
