package bridge

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// slow takes nothing until it is let go.
type slow struct {
	letGo chan struct{}
	bytes.Buffer
}

func (s *slow) Write(p []byte) (int, error) {
	<-s.letGo
	return s.Buffer.Write(p)
}

func TestWhoTellsProgressNeverWaitsAndTheLossIsCounted(t *testing.T) {
	const told = 10 * notesAhead
	s := &slow{letGo: make(chan struct{})}
	n := newNotes(s)
	for i := range told {
		n.tell(fmt.Sprintf("line %d", i)) // would deadlock here if tell waited
	}
	close(s.letGo)
	<-n.close()
	n.tell("after the end")
	<-n.close()
	require.NotContains(t, s.String(), "after the end")
	require.Contains(t, s.String(), "line 0\n")
	written := strings.Count(s.String(), "line ")
	require.GreaterOrEqual(t, written, notesAhead)
	lost := 0
	for _, m := range regexp.MustCompile(`\((\d+) lines of progress`).FindAllStringSubmatch(s.String(), -1) {
		k, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		lost += k
	}
	require.Equal(t, told, written+lost)
}
