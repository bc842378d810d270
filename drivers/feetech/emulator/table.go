package emulator

// register is one entry of a maker's table of registers.
type register struct {
	name string
	addr int
	size int // bytes: 1, 2 or 4
	// write says that a host may write it; rom, that it keeps its value without power.
	write, rom bool
	def        uint32
	// lo and hi bound what may be written; lo below 0 means that the register is read in
	// two's complement. Both 0: anything.
	lo, hi int64
}

// table is a maker's table of registers, by address. It isn't modified once made.
type table struct {
	regs []register
	at   []int16 // by address: index in regs of the register that the byte belongs to, -1 for none
}

func newTable(size int, regs []register) *table {
	t := &table{regs: regs, at: make([]int16, size)}
	for i := range t.at {
		t.at[i] = -1
	}
	for i := range regs {
		for k := range regs[i].size {
			t.at[regs[i].addr+k] = int16(i)
		}
	}
	return t
}

// reg returns the register that the byte at an address belongs to, nil for none.
func (t *table) reg(addr int) *register {
	if addr < 0 || addr >= len(t.at) || t.at[addr] < 0 {
		return nil
	}
	return &t.regs[t.at[addr]]
}

// allowed says that a value may be written.
func (r *register) allowed(v uint32) bool {
	if r.lo == 0 && r.hi == 0 {
		return true
	}
	x := int64(v)
	if r.lo < 0 {
		x = signed(v, r.size)
	}
	return x >= r.lo && x <= r.hi
}

// signed reads a register's bytes in two's complement.
func signed(v uint32, size int) int64 {
	shift := 32 - 8*size
	return int64(int32(v<<shift) >> shift)
}

// get and put are a register's value, the low byte first, as both makers have it.
func get(mem []byte, addr, size int) uint32 {
	var v uint32
	for k := size - 1; k >= 0; k-- {
		v = v<<8 | uint32(mem[addr+k])
	}
	return v
}

func put(mem []byte, addr, size int, v uint32) {
	for k := range size {
		mem[addr+k] = byte(v >> (8 * k))
	}
}

// magnitude reads a value whose bit of that number is its sign.
func magnitude(v uint32, bit int) int {
	m := int(v & (1<<bit - 1))
	if v>>bit&1 == 1 {
		return -m
	}
	return m
}

// withSign is magnitude's inverse, clamped to what the bits hold.
func withSign(v, bit int) uint32 {
	most := 1<<bit - 1
	if v < 0 {
		return uint32(min(-v, most)) | 1<<bit
	}
	return uint32(min(v, most))
}
