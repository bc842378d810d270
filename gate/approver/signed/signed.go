package signed

// Signed reports whether a signature (SignatureLen bytes, r and s) is the key's over
// bytes. Whoever asks has found the entry in a Ring, and has its bytes begin with a
// line that no other signed form begins with.
func (e Entry) Signed(b, signature []byte) bool { return verify(e.Public, b, signature) }
