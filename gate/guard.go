package gate

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// panicError is a panic that was caught; the stack is for the log alone.
type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// guard calls code that isn't the gate's own. A panic is an INTERNAL error, which
// refuses like any other (G9).
func guard[T any](what string, f func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			var zero T
			v = zero
			err = &Error{
				Code: CodeInternal, Where: what, Text: "failed inside (panic)",
				Err: &panicError{value: p, stack: debug.Stack()},
			}
		}
	}()
	return f()
}

// asError makes any error a typed one; an untyped one gets code.
func asError(err error, code Code) *Error {
	var e *Error
	if errors.As(err, &e) {
		if e.Code == "" {
			c := *e
			c.Code = code
			return &c
		}
		return e
	}
	return &Error{Code: code, Text: err.Error(), Err: err}
}
