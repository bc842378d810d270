package words

// What is said about the operator's key, and at a terminal that is attached to a
// running bridge.

// KeyTrusted says which operator's key a bridge trusts.
func (l Lang) KeyTrusted(id, name, since string) string {
	return l.pick("the operator's key is %s (%s), trusted since %s; answers: tau robot approvals attach",
		"operatör anahtarı %s (%s), %s tarihinden beri güvenilir; yanıtlamak için: tau robot approvals attach", id, name, since)
}

// KeyNotAsPinned says that the trusted key isn't as it was, so that nobody can answer
// from outside.
func (l Lang) KeyNotAsPinned(id, why string) string {
	return l.pick("⚠️  answers from outside don't count: the operator's key %s, which this bridge trusts, isn't there as it was (%s). If you have changed it yourself, start the bridge with --operator-key and the new one",
		"⚠️  dışarıdan gelen yanıtlar sayılmaz: bu köprünün güvendiği operatör anahtarı %s olduğu gibi yerinde değil (%s). Siz değiştirdiyseniz köprüyü --operator-key ile yeni anahtarla başlatın", id, why)
}

// KeyNotTrusted says that a key is there which nobody has told the bridge to trust.
func (l Lang) KeyNotTrusted(id, name string) string {
	return l.pick("answers from outside don't count yet: there is an operator's key %s (%s); if you have made it, start the bridge once with --operator-key %s",
		"dışarıdan gelen yanıtlar henüz sayılmaz: bir operatör anahtarı var: %s (%s); siz oluşturduysanız köprüyü bir kez --operator-key %s ile başlatın", id, name, id)
}

// KeyNone says how a bridge gets an operator's key.
func (l Lang) KeyNone() string {
	return l.pick("to answer from another terminal, make an operator's key: tau robot approvals init",
		"başka bir uçbirimden yanıtlamak için bir operatör anahtarı oluşturun: tau robot approvals init")
}

// StdioNobody is what a person reads of a bridge on an MCP client's streams that nobody
// can answer for.
func (l Lang) StdioNobody() string {
	return l.pick("MCP on standard input and output; nobody can approve in this run, and no approver reads the terminal that an MCP client runs in",
		"MCP standart giriş ve çıkışta; bu çalıştırmada kimse onaylayamaz ve bir MCP istemcisinin çalıştığı uçbirimi hiçbir onaylayıcı okumaz")
}

// StdioAttach is the same of one that can be answered for.
func (l Lang) StdioAttach() string {
	return l.pick("MCP on standard input and output; questions wait for an answer from outside, and no approver reads the terminal that an MCP client runs in",
		"MCP standart giriş ve çıkışta; sorular dışarıdan bir yanıt bekler ve bir MCP istemcisinin çalıştığı uçbirimi hiçbir onaylayıcı okumaz")
}
