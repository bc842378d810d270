// Package shell is the interactive prompt: a person calls tools by name and sees
// short answers. It is an agent-facing front end like any other: it holds a
// [gate.Caller]; approvals are asked and answered elsewhere, on the same terminal,
// and it must never import anything that can approve.
package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"

	"github.com/tau-robot/tau/cmd/tau/internal/show"
	"github.com/tau-robot/tau/gate"
)

// origin is what the prompt's calls say of where they come from.
const origin = "prompt"

// maxRunning bounds the calls that one prompt has under way, stops not counted.
const maxRunning = 16

// Console reads lines and prints above the line that is being typed. Print may be
// called from any goroutine and holds text back while a question is open.
type Console interface {
	// ReadLine blocks for a line without its end; io.EOF ends the prompt.
	ReadLine() (string, error)
	Print(text string)
}

// Config is what a prompt runs with. All of it is required but Intro.
type Config struct {
	Console   Console
	Caller    gate.Caller
	Session   string
	Principal string
}

type shell struct {
	Config
	specs []gate.Spec
	slots chan struct{}
	wg    sync.WaitGroup
}

// Run reads and runs lines until the end of input or "quit" (nil), or until
// reading fails. A call runs beside the prompt, so that stop and estop always get
// through; its answer is printed when it comes. When ctx ends, or Run ends, the
// calls under way are cancelled, which brings a motion to a controlled stop, and
// waited for. The console's owner ends a blocked ReadLine.
func Run(ctx context.Context, c Config) error {
	s := &shell{Config: c, specs: c.Caller.Specs(), slots: make(chan struct{}, maxRunning)}
	ctx, cancel := context.WithCancel(ctx)
	defer s.wg.Wait()
	defer cancel()
	for {
		line, err := c.Console.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if s.line(ctx, split(line)) {
			return nil
		}
	}
}

// line runs one line and reports whether it was the last.
func (s *shell) line(ctx context.Context, c command) (quit bool) {
	switch c.word {
	case "":
	case "quit", "exit":
		return true
	case "help":
		s.Console.Print(s.help(c.rest))
	case "tools":
		s.Console.Print(s.list())
	case "state":
		s.start(ctx, "robot_state", []byte("{}"), stateText)
	case string(gate.StopControlled), string(gate.StopEmergency):
		s.stop(ctx, c)
	default:
		s.call(ctx, c)
	}
	return false
}

func (s *shell) call(ctx context.Context, c command) {
	spec, ok := find(s.specs, c.word)
	if !ok {
		// The gate refuses it, and logs that somebody tried.
		s.start(ctx, c.word, []byte("{}"), show.Answer)
		return
	}
	args, err := arguments(spec, c.rest)
	if err != nil {
		s.Console.Print("✗ " + gate.Escape(c.word) + ": " + gate.Escape(err.Error()))
		return
	}
	s.start(ctx, c.word, args, show.Answer)
}

// stop doesn't count among the calls under way and doesn't judge its arguments.
func (s *shell) stop(ctx context.Context, c command) {
	args := []byte("{}")
	if strings.HasPrefix(c.rest, "{") {
		args = []byte(c.rest)
	} else if c.rest != "" {
		args = write([]member{{"reason", quote(strings.TrimPrefix(c.rest, "reason="))}})
	}
	s.wg.Go(func() {
		s.Console.Print(show.Answer(s.Caller.Call(context.WithoutCancel(ctx), s.invocation(c.word, args))))
	})
}

func (s *shell) start(ctx context.Context, tool string, args []byte, text func(gate.Answer) string) {
	select {
	case s.slots <- struct{}{}:
	default:
		s.Console.Print(fmt.Sprintf("✗ %s: %d calls are under way; wait for one to end, or stop", gate.Escape(tool), maxRunning))
		return
	}
	s.wg.Go(func() {
		defer func() { <-s.slots }()
		s.Console.Print(text(s.Caller.Call(ctx, s.invocation(tool, args))))
	})
}

func (s *shell) invocation(tool string, args []byte) gate.Invocation {
	return gate.Invocation{Tool: tool, Args: args, Session: s.Session, Principal: s.Principal, Origin: origin}
}

// stateText shows robot_state with its data, which is what was asked for.
func stateText(a gate.Answer) string {
	if a.Status != gate.StatusOK {
		return show.Answer(a)
	}
	return show.State(a.Result)
}

func (s *shell) list() string {
	specs := append([]gate.Spec(nil), s.specs...)
	sort.SliceStable(specs, func(i, j int) bool { return specs[i].Tier < specs[j].Tier })
	var b strings.Builder
	for i, sp := range specs {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s  %-22s %s", sp.Tier, sp.Name, sp.Effect)
	}
	return b.String()
}

const helpText = `TOOL                      call a tool without arguments: home
TOOL key=value …          move_joints shoulder_pan=0.5 speed_scale=0.3
TOOL {json}               move_pose {"position":[0.2,0,0.15]}
stop, estop               stop at once, whatever runs; estop stays latched
state                     what is measured now
tools                     the catalog: tier, name, effect
help TOOL                 a tool's arguments
quit                      end; a motion under way is brought to a controlled stop`

func (s *shell) help(name string) string {
	if name == "" {
		return helpText
	}
	spec, ok := find(s.specs, name)
	if !ok {
		return "there is no tool " + gate.Escape(name)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (tier %s): %s", spec.Name, spec.Tier, spec.Description)
	if spec.Input != nil {
		for _, p := range spec.Input.Properties {
			fmt.Fprintf(&b, "\n  %s", p.Name)
			if p.Required {
				b.WriteString(" (required)")
			}
			if p.Schema == nil {
				continue
			}
			if p.Schema.Unit != "" {
				fmt.Fprintf(&b, " [%s]", p.Schema.Unit)
			}
			if p.Schema.Description != "" {
				b.WriteString(": " + p.Schema.Description)
			}
		}
	}
	return b.String()
}
