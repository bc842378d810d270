package feetech

import "github.com/tau-robot/tau/drivers/hosted"

// NewBody is the body that Open hands to an engine.
func NewBody(o Options) (hosted.Body, error) {
	fam, err := o.check()
	if err != nil {
		return nil, err
	}
	return newBody(o, fam)
}
