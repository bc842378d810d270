// Package shell is what the interactive prompt's lines mean: a person calls tools
// by name and sees short answers. It is an agent-facing front end like any other:
// it holds a [gate.Caller]; approvals are asked and answered elsewhere, on the same
// terminal, and it must never import anything that can approve.
package shell

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tau-robot/tau/cmd/tau/internal/show"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

// Origin is what the prompt's calls say of where they come from.
const Origin = "prompt"

// Config is what a Shell needs. All of it is required.
type Config struct {
	Caller    gate.Caller
	Session   string
	Principal string
	Names     Names
	Lang      words.Lang
	Print     func(string)               // shows whole lines; may be called from any goroutine
	Why       func(callID string) string // why a call wasn't approved; "": not known
	Quit      func()                     // asked for by "quit"; must not wait for Handle
}

// Shell handles lines. All methods may be called from any goroutine.
type Shell struct {
	Config
	specs   []gate.Spec
	running atomic.Int32
	turns   atomic.Uint64 // lines that were handled, each a turn of its own for budgets
}

// New reads the catalog.
func New(c Config) *Shell { return &Shell{Config: c, specs: c.Caller.Specs()} }

// Busy reports whether a line is being handled.
func (s *Shell) Busy() bool { return s.running.Load() > 0 }

// Act takes a stop or estop, whatever follows the word: it has been commanded when
// Act returns, which it does at once; finish waits for the verdict and shows it.
func (s *Shell) Act(line string) (finish func(), ok bool) {
	c := split(line)
	if c.word != string(gate.StopControlled) && c.word != string(gate.StopEmergency) {
		return nil, false
	}
	ticket := s.Caller.Submit(s.invocation(c.word, stopArguments(c.rest)))
	return func() {
		<-ticket.Done()
		s.Print(show.Answer(s.Lang, ticket.Answer()))
	}, true
}

// Quits reports a line that asks for the end.
func (s *Shell) Quits(line string) bool {
	w := split(line).word
	return w == "quit" || w == "exit"
}

// Beside reports a line that changes nothing, so that it may be handled beside
// another: the prompt's own words, and tools of tier 0.
func (s *Shell) Beside(line string) bool {
	c := split(line)
	if slices.Contains(builtins[:], c.word) {
		return !s.Quits(line)
	}
	spec, ok := find(s.specs, c.word)
	return ok && spec.Tier == gate.TierRead
}

// Complete returns what the word before pos can become, and where it starts.
func (s *Shell) Complete(line string, pos int) (start int, words []string) {
	before := line[:pos]
	return strings.LastIndexByte(before, ' ') + 1, complete(before, s.specs, s.Names)
}

// Handle runs one line and returns when it has ended: for a physical call, when
// the robot is at rest again or nothing was moved. When ctx ends, an open question
// is withdrawn and a motion brought to a controlled stop first. taken is when the line
// was completed: a stop since then ends it before anything is done.
func (s *Shell) Handle(ctx context.Context, line string, taken gate.Stamp) {
	s.turns.Add(1)
	s.running.Add(1)
	defer s.running.Add(-1)
	c := split(line)
	switch c.word {
	case "":
	case "quit", "exit":
		s.Quit()
	case "help":
		s.Print(s.help(c.rest))
	case "tools":
		s.Print(s.list())
	case "state":
		s.Print(show.Result(s.Lang, s.call(ctx, "robot_state", nil, taken)))
	default:
		s.Print(s.tool(ctx, c, taken))
	}
}

func (s *Shell) tool(ctx context.Context, c command, taken gate.Stamp) string {
	// An unknown tool goes to the gate all the same: it refuses, and logs that
	// somebody tried.
	var args []byte
	spec, known := find(s.specs, c.word)
	if known {
		var err error
		if args, err = arguments(spec, c.rest, s.Names); err != nil {
			return "✗ " + gate.Escape(c.word) + ": " + gate.Escape(err.Error())
		}
	}
	a := s.call(ctx, c.word, args, taken)
	if !known {
		return show.Answer(s.Lang, a) + gate.Escape(didYouMean(s.Lang, c.word, s.words())) + " " + s.Lang.SeeHelp()
	}
	if spec.Tier == gate.TierRead {
		return show.Result(s.Lang, a)
	}
	return show.AnswerTo(s.Lang, a, "", s.Why(a.CallID))
}

// words are all that a line can begin with.
func (s *Shell) words() []string {
	out := slices.Clone(builtins[:])
	for _, spec := range s.specs {
		out = append(out, spec.Name)
	}
	return out
}

func (s *Shell) call(ctx context.Context, tool string, args []byte, taken gate.Stamp) gate.Answer {
	// Progress comes from the goroutine that runs the motion, and printing may wait
	// for a terminal that takes no output.
	var told sync.WaitGroup
	defer told.Wait()
	inv := s.invocation(tool, args)
	inv.Taken = taken
	inv.Progress = func(text string) {
		if text == begun { // how far a motion is would only scroll the screen away
			told.Go(func() { s.Print("… " + gate.Escape(tool) + ": " + begun) })
		}
	}
	return s.Caller.Call(ctx, inv)
}

func (s *Shell) invocation(tool string, args []byte) gate.Invocation {
	return gate.Invocation{
		Tool: tool, Args: args, Session: s.Session, Principal: s.Principal, Origin: Origin,
		Turn: "line " + strconv.FormatUint(s.turns.Load(), 10),
	}
}

// begun is how the gate says that a physical call has begun.
const begun = "running"

// stopArguments takes what follows a stop for its reason.
func stopArguments(rest string) []byte {
	switch {
	case rest == "":
		return nil
	case strings.HasPrefix(rest, "{"):
		return []byte(rest)
	}
	return write([]member{{"reason", quote(strings.TrimPrefix(rest, "reason="))}})
}

func (s *Shell) list() string {
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

func (s *Shell) help(name string) string {
	if name == "" {
		return s.Lang.ShellHelp()
	}
	spec, ok := find(s.specs, name)
	if !ok {
		return s.Lang.NoSuchTool(gate.Escape(name))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s", spec.Name, s.Lang.TierOf(spec.Tier.String()), spec.Description)
	if spec.Input != nil {
		for _, p := range spec.Input.Properties {
			fmt.Fprintf(&b, "\n  %s", p.Name)
			if p.Required {
				b.WriteString(" " + s.Lang.Required())
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
