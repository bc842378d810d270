package words

// The labels of what is permitted for more than one call, on its card: a request for
// access, and a routine.

// FactPermits labels what a value permits.
func (l Lang) FactPermits() string { return l.pick("Permits", "İzin verdiği") }

// FactGrantedBefore labels what needn't be asked for.
func (l Lang) FactGrantedBefore() string { return l.pick("Granted before", "Daha önce verilen") }

// FactReasonGiven labels the agent's own words.
func (l Lang) FactReasonGiven() string { return l.pick("Reason given", "Bildirilen gerekçe") }

// FactHolds labels until when it holds.
func (l Lang) FactHolds() string { return l.pick("Holds", "Geçerlilik") }

// FactRoutine labels a routine's name.
func (l Lang) FactRoutine() string { return l.pick("Routine", "Rutin") }

// FactFired labels how often a routine may be fired.
func (l Lang) FactFired() string { return l.pick("Fired", "Çalıştırılması") }

// FactStep labels a routine's step of number n.
func (l Lang) FactStep(n string) string { return l.pick("Step %s", "%s. adım", n) }
