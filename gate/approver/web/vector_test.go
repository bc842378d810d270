package web_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/approver/web"
	"github.com/tau-robot/tau/gate/approver/web/webtest"
)

// TestTheDocumentsVector holds the service and the document to each other.
func TestTheDocumentsVector(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "APPROVAL-API.md"))
	require.NoError(t, err)
	doc := string(b)
	raw, err := hex.DecodeString("a6eaf652ba3f2e1d4522700c3989aa32e359e9c5b8d426478191637f381ea25c")
	require.NoError(t, err)
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), raw)
	require.NoError(t, err)
	d := webtest.Of(t, key)
	body := `{"reason":"enough"}`
	signedBytes := web.RequestBytes("POST", host, "/approvals/v1/stop", 1777636800000, "000102030405060708090a0b0c0d0e0f", []byte(body))
	require.Contains(t, doc, "`"+hex.EncodeToString(raw)+"`")
	require.Contains(t, doc, "`"+d.ID+"`")
	require.Contains(t, doc, "`"+body+"`")
	require.Contains(t, doc, "    "+strings.ReplaceAll(string(signedBytes), "\n", "\n    ")+"\n")

	_, after, ok := strings.Cut(doc, "and a signature of them")
	require.True(t, ok)
	line := strings.TrimSpace(strings.Split(after, "\n")[2])
	sig, err := base64.StdEncoding.DecodeString(line)
	require.NoError(t, err)
	e, err := signed.NewEntry("x", signed.KindDevice, d.Public, time.Unix(1, 0))
	require.NoError(t, err)
	require.True(t, e.Signed(signedBytes, sig))
	sig[0] ^= 1
	require.False(t, e.Signed(signedBytes, sig))
}

// TestTheDocumentNamesEachReason: a client can rely on the table.
func TestTheDocumentNamesEachReason(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "APPROVAL-API.md"))
	require.NoError(t, err)
	for _, r := range []gate.Reason{
		web.ReasonNoPath, web.ReasonHost, web.ReasonOrigin, web.ReasonBusy, web.ReasonTooLarge, web.ReasonBody, web.ReasonUnsigned, web.ReasonClock,
		web.ReasonRepeated, web.ReasonTooMany, web.ReasonNoRequest, web.ReasonAsking, web.ReasonDecided, web.ReasonGone, web.ReasonForeignKey, web.ReasonEnded,
		signed.ReasonMalformed, signed.ReasonRing, signed.ReasonUnknown, signed.ReasonRevoked, signed.ReasonKind, signed.ReasonSignature, signed.ReasonPurpose,
		signed.ReasonOther, signed.ReasonDigest, signed.ReasonShown, signed.ReasonExpired, signed.ReasonReplayed, signed.ReasonNonce,
		signed.ReasonNoPairing, signed.ReasonPairingLate, signed.ReasonPairingUsed, signed.ReasonPairingCode, signed.ReasonTooMany, signed.ReasonNotEnrolled,
	} {
		require.Contains(t, string(b), "`"+string(r)+"`")
	}
}
