package cli

import (
	"context"
	"net"

	"github.com/spf13/cobra"

	"starling/cmd/starling/connect"
	"starling/runtime"
	"starling/runtime/metrics"
	"starling/runtime/postgres"
)

// serveVerb is a call of the verb serve.
type serveVerb struct{ call *call }

// serveCommand is the verb serve: nothing but an owner that stays. Every other verb works without
// it.
func serveCommand(c *call) *cobra.Command {
	v := &serveVerb{call: c}
	var idle string
	var f faces
	cmd := &cobra.Command{
		Use:     "serve",
		Short:   "Stay, and carry every run of the store",
		GroupID: "store",
		Long: `Stay, and carry every run of the store.

With --http ADDR, answer programs over HTTP too: the tools of starling mcp as POST /v1/TOOL, the events of a run as a stream, and /openapi.json that describes what the token may do. Every request
needs the secret of a token (starling token add), from this machine too. With --mcp, the same address serves the Model Context Protocol at /mcp.

With --tls-cert and --tls-key it is https. The files are read again when they have changed; the names of the certificate are names of the server.`,
		Example: "  starling serve --http 127.0.0.1:7070 --mcp\n  starling serve --http :7443 --tls-cert cert.pem --tls-key key.pem",
		Args:    operands(0, 0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return v.serve(cmd.Context(), idle, f) },
	}
	c.jsonFlag(cmd)
	cmd.Flags().StringVar(&f.http, "http", "", "answer programs over HTTP at `ADDR`, such as 127.0.0.1:7070")
	cmd.Flags().StringSliceVar(&f.hosts, "host", nil, "a `NAME` under which --http is reached, beside those of this machine's loopback")
	cmd.Flags().StringVar(&f.cert, "tls-cert", "", "the PEM `FILE` of the certificate with its chain, for https")
	cmd.Flags().StringVar(&f.key, "tls-key", "", "the PEM `FILE` of its private key")
	cmd.Flags().BoolVar(&f.mcp, "mcp", false, "serve the Model Context Protocol at /mcp of --http")
	cmd.Flags().StringVar(&idle, "idle", "", "leave when there was nothing to do for `DURATION`")
	return cmd
}

// serve owns the store until it is told to leave. A second one is refused: unlike other verbs it
// has no use for being a client.
func (v *serveVerb) serve(ctx context.Context, idle string, f faces) error {
	var s connect.Serving
	if idle != "" {
		var err error
		if s.Idle, err = parseDuration("--idle", idle); err != nil {
			return err
		}
	}
	l, err := f.listen(v.call.notice)
	if err != nil {
		return err
	}
	var entrance *connect.Entrance
	if l != nil {
		defer l.Close()
		entrance = connect.NewEntrance(l)
		s.Address = f.address(l)
	}
	s.Standby = func(h postgres.Holder) {
		if entrance != nil {
			entrance.Standby(h)
		}
		v.standBy(h)
	}
	reporting, end := context.WithCancel(ctx)
	defer func() { end() }()
	s.Ready = func(e connect.Session) error {
		end() // of a shared store, for the engine that has lost it
		reporting, end = context.WithCancel(ctx)
		v.report(reporting)
		if err := v.carryAll(ctx, e, l, f.scheme()); err != nil || l == nil {
			return err
		}
		return v.call.expose(e, entrance.Own(), f)
	}
	return v.call.door().Serve(ctx, s)
}

// report has the collector of the project told how the store stands, as long as ctx goes on. A
// project that cannot be read keeps nobody from the store.
func (v *serveVerb) report(ctx context.Context) {
	settings, err := v.call.homeSettings(v.call.place.Home())
	switch {
	case err != nil:
		v.call.notice("warning: no collector is told how the store stands: %v", err)
	case v.call.exporter != nil:
		go v.call.exporter.Report(ctx, settings, &metrics.Reader{Desk: v.call.desk(v.call.exporter.Engine())}, v.call.notice)
	}
}

// standBy says for whom a server of a shared store waits.
func (v *serveVerb) standBy(h postgres.Holder) {
	switch {
	case h.Name == "":
		v.call.notice("standing by: who owns %s is not known yet", v.call.place.Name())
	case h.Address == "":
		v.call.notice("standing by: %s owns %s", h.Name, v.call.place.Name())
	default:
		v.call.notice("standing by: %s owns %s, at %s", h.Name, v.call.place.Name(), h.Address)
	}
}

// servingDocument is what serve prints when others may connect.
type servingDocument struct {
	Schema   string `json:"schema"`
	Store    string `json:"store"`
	Carrying int    `json:"carrying"`       // unfinished runs
	HTTP     string `json:"http,omitempty"` // where programs are answered
}

// carryAll makes a server drive all runs, with the variables of its own environment: it is the
// client that carries them. It asks for no run by itself, for there may be very many.
func (v *serveVerb) carryAll(ctx context.Context, s connect.Session, l net.Listener, scheme string) error {
	err := v.call.carryUnserved(ctx, s)
	if err != nil {
		return err
	}
	runs, err := s.Resume(ctx, runtime.ResumeRequest{All: true, Schedules: true, Lookup: v.call.getenv})
	if err != nil {
		return err
	}
	v.call.notice("serving %s; carrying %d unfinished runs", v.call.place.Name(), len(runs))
	at := ""
	if l != nil {
		at = scheme + "://" + l.Addr().String()
		v.call.notice("answering at %s", at)
	}
	if v.call.json {
		return v.call.answerJSON(servingDocument{runtime.Schema, v.call.place.Name(), len(runs), at})
	}
	return nil
}
