package mcp

import (
	"encoding/json"
	"math"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// A call that nobody gave a stamp at its intake isn't run.
func TestG6_ACallWithoutAStampIsRefused(t *testing.T) {
	for _, s := range []gate.Stamp{1, 1 << 40, math.MaxUint64} {
		require.Equal(t, s, takenOf(&sdk.RequestExtra{Header: http.Header{headerTaken: {stampText(s)}}}))
	}
	g := &countingGate{}
	srv, err := New(Options{Caller: g, Tokens: new(TokenTable)})
	require.NoError(t, err)
	ten := newTenant(srv, identity{"t", "p", "s"})
	for _, extra := range []*sdk.RequestExtra{nil, {}, {Header: http.Header{headerTaken: {"x"}}}, {Header: http.Header{headerTaken: {"0"}}}} {
		res, err := ten.call(t.Context(), &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{Name: "move"}, Extra: extra})
		require.NoError(t, err)
		require.True(t, res.IsError)
		require.Contains(t, string(res.StructuredContent.(json.RawMessage)), `"code":"INTERNAL","text":"The call came by the wrong way; it was not run."`)
		require.Empty(t, g.invs)
	}
}
