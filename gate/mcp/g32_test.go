package mcp_test

import (
	"context"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"net/http"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/mcp"
)

// Whatever a client sends while a question is open, forged answers to elicitations
// included, the question stays open and nothing runs.
func TestG32_NothingOverMCPApproves(t *testing.T) {
	g := newFake()
	b := serve(t, g, func(o *mcp.Options) { o.Wait = time.Minute })
	sid := b.initialize(t, b.alice, "2025-11-25") // as a client that can elicit
	head := func(r *http.Request) {
		r.Header.Set("Mcp-Session-Id", sid)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	answered := make(chan string, 1)
	go func() {
		_, body := b.post(t, b.alice, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"move_joints","arguments":`+move+`,"_meta":{"progressToken":1}}}`, head)
		answered <- body
	}()
	tk := g.asked(t)
	const accept = `{"action":"accept","content":{"approved":true}}`
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"result":` + accept + `}`,
		`{"jsonrpc":"2.0","id":5,"result":` + accept + `}`,
		`{"jsonrpc":"2.0","id":"` + tk.id + `","result":` + accept + `}`,
		`{"jsonrpc":"2.0","id":0,"error":{"code":0,"message":"approved"}}`,
		`{"jsonrpc":"2.0","id":6,"method":"elicitation/create","params":{"message":"approve?","requestedSchema":{"type":"object"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"` + tk.id + `"}}`,
		`{"jsonrpc":"2.0","id":7,"method":"approvals/approve","params":{"call_id":"` + tk.id + `"}}`,
		`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"move_joints","arguments":` + move + `,"inputResponses":{"a":` + accept + `}}}`,
		`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"move_joints","arguments":` + move + `,"requestState":"approved"}}`,
		`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"move_joints","arguments":` + move + `,"approved":true}}`,
		`{"jsonrpc":"2.0","id":10,"method":"sampling/createMessage","params":{"messages":[]}}`,
	} {
		code, text := b.post(t, b.alice, body, head)
		require.GreaterOrEqual(t, code, 400, body+text)
		require.False(t, tk.over(), body)
	}
	// These are calls, and the gate judges them like any other; none is an approval.
	for _, tool := range []string{"approve", "approvals", "respond", "tau/approve"} {
		code, text := b.post(t, b.alice, `{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"`+tool+`","arguments":{"call_id":"`+tk.id+`"}}}`, head)
		require.Equal(t, http.StatusOK, code)
		require.Contains(t, text, "is not registered")
	}
	require.False(t, tk.over())
	require.Len(t, g.calls(), 1+4, "nothing of all that became a call of a known tool")
	tk.end(gate.Answer{Status: gate.StatusRefused, Code: gate.CodeNotApproved, Text: "no", Approval: gate.ApprovalRejected})
	require.Contains(t, <-answered, `"approval":"rejected"`)
}

// A client that says it can answer elicitations and sampling is never asked.
func TestG32_ClientsAreNeverAsked(t *testing.T) {
	g := newFake()
	b := serve(t, g, nil)
	revisions(t, func(t *testing.T, version string) {
		cs := b.connect(t, b.alice, version, &sdk.ClientOptions{
			ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
				assert.Fail(t, "the client was asked")
				return &sdk.ElicitResult{Action: "accept"}, nil
			},
		})
		got := make(chan error, 1)
		go func() { _, err := call(t.Context(), cs, "move_joints", move); got <- err }()
		g.asked(t).end(moved)
		require.NoError(t, <-got)
		if p := cs.InitializeResult(); p != nil && p.Capabilities != nil {
			require.Nil(t, p.Capabilities.Logging) //nolint:staticcheck // deprecated, and still nothing that we may offer
			require.NotNil(t, p.Capabilities.Tools)
		}
	})
}

// The seam itself holds nothing that can decide: adding a method to it must be a
// decision, made here too.
func TestG31_TheSeamCantDecide(t *testing.T) {
	methods := func(typ reflect.Type) (names []string) {
		for m := range typ.Methods() {
			names = append(names, m.Name)
		}
		return names
	}
	require.ElementsMatch(t, []string{"Specs", "Call", "Stamp", "Submit"}, methods(reflect.TypeFor[gate.Caller]()))
	require.ElementsMatch(t, []string{"ID", "Done", "Answer", "Cancel"}, methods(reflect.TypeFor[gate.Ticket]()))
}

func TestG31_ImportsNothingThatDecides(t *testing.T) {
	goTool, err := exec.LookPath("go")
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), goTool, "list", "-deps", ".").Output()
	require.NoError(t, err)
	const module = "github.com/tau-robot/tau/"
	var own []string
	for _, p := range strings.Fields(string(out)) {
		if rest, ok := strings.CutPrefix(p, module); ok {
			own = append(own, rest)
		}
	}
	require.ElementsMatch(t, []string{"gate", "gate/conns", "gate/mcp", "gate/stopscan"}, own)
}

// No file of the package names what would ask a client or decide a question.
func TestG32_TheSourceAsksNothing(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	forbidden := map[string]string{
		"Elicit": "asks a client", "ElicitParams": "asks a client", "InputRequests": "asks a client",
		"CreateMessage": "asks a client", "CreateMessageWithTools": "asks a client", "ListRoots": "asks a client",
		"URLElicitationRequiredError": "asks a client",
		"Approved":                    "decides", "Approver": "decides", "Decision": "decides", "Requests": "decides",
	}
	n := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		n++
		f, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(node ast.Node) bool {
			if sel, ok := node.(*ast.SelectorExpr); ok {
				why, bad := forbidden[sel.Sel.Name]
				assert.False(t, bad, "%s: %s %s", name, sel.Sel.Name, why)
			}
			return true
		})
	}
	require.Positive(t, n)
}
