package words

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestG53_EachMessageIsThereInBothLanguages calls every message with sample arguments.
func TestG53_EachMessageIsThereInBothLanguages(t *testing.T) {
	of := reflect.TypeFor[Lang]()
	said := 0
	for i := range of.NumMethod() {
		m := of.Method(i)
		if m.Name == "String" || m.Type.NumOut() != 1 || m.Type.Out(0).Kind() != reflect.String {
			continue
		}
		said++
		text := func(l Lang) string {
			in := []reflect.Value{reflect.ValueOf(l)}
			for k := 1; k < m.Type.NumIn(); k++ {
				in = append(in, sample(m.Type.In(k)))
			}
			return m.Func.Call(in)[0].String()
		}
		en, tr := text(English), text(Turkish)
		for _, s := range []string{en, tr} {
			require.NotEmpty(t, strings.TrimSpace(s), m.Name)
			require.NotContains(t, s, "%!", m.Name)
		}
		require.NotEqual(t, en, tr, m.Name)
		for k := 1; k < m.Type.NumIn(); k++ {
			if m.Type.In(k).Kind() == reflect.String {
				require.Contains(t, en, "sample", m.Name)
				require.Contains(t, tr, "sample", m.Name)
			}
		}
	}
	require.Greater(t, said, 3)
}

func sample(of reflect.Type) reflect.Value {
	v := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.String:
		v.SetString("sample")
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(7 * time.Second))
	case reflect.Float64:
		v.SetFloat(7)
	case reflect.Bool:
		v.SetBool(true)
	}
	return v
}

func TestParse(t *testing.T) {
	for _, l := range []Lang{English, Turkish} {
		got, ok := Parse(l.String())
		require.True(t, ok)
		require.Equal(t, l, got)
	}
	_, ok := Parse("de")
	require.False(t, ok)
}

func TestG53_ALabelOfARoutinesStepIsTheStepsOwn(t *testing.T) {
	for label, want := range map[string]string{
		"Moves": "Hareket", "2. Moves": "2. Hareket", "12. Ends at": "12. Bittiği yer", "Step 3": "3. adım", "Permits": "İzin verdiği",
		"2. Of its own": "2. Of its own", "Step by step": "Step by step", ". Moves": ". Moves", "Of its own": "Of its own",
	} {
		require.Equal(t, want, Fact(Turkish, label))
		require.Equal(t, label, Fact(English, label))
	}
}
