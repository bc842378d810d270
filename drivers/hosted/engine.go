package hosted

import (
	"context"

	"github.com/tau-robot/tau/robot"
)

// Engine is a robot whose hardware is a Body. All methods may be called from any
// goroutine. Info never blocks; State blocks for at most StaleAfter; the others say what
// they wait for. A driver embeds it, or hands it out: it is a robot.Backend and more.
type Engine struct {
	opts Options
}

// Open connects the hardware, reads it, and sets what stands beside the joints to off.
// It blocks for at most Options.Within, or until ctx ends. The robot starts disabled,
// whatever it was before, and nothing moves. After an error nothing is open.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return nil, robot.Errf(robot.CodeNotSupported, o.Traits.Backend, "not built yet")
}
