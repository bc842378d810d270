package port

import "context"

// Dialer opens one port, again and again: what a driver needs whose link may be lost. A
// zero Dialer with Options is ready. It isn't safe for concurrent use.
type Dialer struct {
	Options Options

	last *Port // that was opened; nil: none yet
}

// Dial opens the port: at first as Open does, which says at once why it can't be had, and
// resets the board where Options say so; from then on as Reopen does, which closes the
// Port that Dial returned last and waits for the device, or ctx's end. A first time that
// failed is one still. Errors are those of Open and Reopen; nothing is open after one.
func (d *Dialer) Dial(ctx context.Context) (*Port, error) {
	var p *Port
	var err error
	if d.last == nil {
		p, err = Open(ctx, d.Options)
	} else {
		p, err = d.last.Reopen(ctx)
	}
	if err != nil {
		return nil, err
	}
	d.last = p
	return p, nil
}
