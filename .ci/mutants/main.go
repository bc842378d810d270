// Command mutants breaks the promises of the gate, the lane, the planner and the
// simulator one at a time, each in a copy of the tree, and demands that a test
// named for the promise fails. What survives isn't proved. It is part of no
// product, and imports nothing but the standard library.
//
//	go run -C .ci/mutants . [-clause G12] [-match TEXT] [-from 1] [-j 2] [-limit 60s] [-v]
//
// Exit status: 0 every mutant was killed; 1 one survived, is stale or doesn't
// compile, or a test fails without any mutant; 2 usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"
)

type options struct {
	root, clause, match string
	jobs, from          int
	limit               time.Duration
	verbose             bool
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", "../..", "the repository")
	flag.StringVar(&o.clause, "clause", "", "only these clauses, with commas between")
	flag.StringVar(&o.match, "match", "", "only mutants with this in their name")
	flag.IntVar(&o.from, "from", 1, "begin with this one of the list, to go on with a run that was cut off")
	flag.IntVar(&o.jobs, "j", 2, "how many at a time")
	flag.DurationVar(&o.limit, "limit", 60*time.Second, "time limit of one mutant's tests")
	flag.BoolVar(&o.verbose, "v", false, "show each run's output")
	flag.Parse()
	if flag.NArg() > 0 || o.jobs < 1 || o.from < 1 || o.limit <= 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, o, ".", os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// run does the whole of it with the lists in the folder lists.
func run(ctx context.Context, o options, lists string, out, progress io.Writer) error {
	all, err := readLists(lists)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m mutant) bool {
		return o.clause != "" && !slices.Contains(strings.Split(o.clause, ","), m.clause) || !strings.Contains(m.name, o.match)
	})
	if len(all) == 0 {
		return errors.New("no mutant is of that clause and name")
	}
	if o.from > len(all) {
		return fmt.Errorf("-from %d: there are %d mutants", o.from, len(all))
	}
	all = all[max(o.from, 1)-1:]
	temp, err := os.MkdirTemp("", "tau-mutants-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	trees := make([]string, min(o.jobs, len(all)))
	for i := range trees {
		trees[i] = filepath.Join(temp, fmt.Sprint("tree", i))
		from := o.root
		if i == 0 {
			err = copyTree(ctx, from, trees[0])
		} else {
			err = os.CopyFS(trees[i], os.DirFS(trees[0])) // the same state, whoever edits meanwhile
		}
		if err != nil {
			return err
		}
	}
	var stale []error
	for i := range all {
		if _, err := all[i].apply(trees[0]); err != nil {
			stale = append(stale, err)
		}
	}
	if stale != nil {
		return errors.Join(stale...)
	}
	start := time.Now()
	var built cache
	if len(all) >= ownFrom {
		built.dir = filepath.Join(temp, "cache")
	}
	if err := baseline(ctx, o, built.environment(), trees, all, progress); err != nil {
		return err
	}
	if err := built.keep(); err != nil {
		return err
	}
	verdicts := make([]verdict, len(all))
	err = each(ctx, trees, len(all), func(ctx context.Context, tree string, i int) error {
		var err error
		verdicts[i], err = try(ctx, built.environment(), tree, &all[i], o.limit)
		if (i+1)%pruneEvery == 0 {
			err = errors.Join(err, built.prune(time.Now().Add(-pruneAge)))
		}
		fmt.Fprintf(progress, "%3d/%d %5.1f s  %-5s %s: %s\n", i+1, len(all), verdicts[i].seconds, all[i].clause, all[i].name, verdicts[i].text)
		if o.verbose || err == nil && !verdicts[i].killed {
			fmt.Fprintln(progress, indent(verdicts[i].output))
		}
		return err
	})
	if err != nil {
		return err
	}
	return report(out, all, verdicts, time.Since(start))
}

// baseline runs the tests that the mutants name, without any mutant: all must
// pass, and each expression must name one.
func baseline(ctx context.Context, o options, env, trees []string, all []mutant, progress io.Writer) error {
	var pkgs []string
	exprs := map[string][]string{}
	for _, m := range all {
		if exprs[m.pkg] == nil {
			pkgs = append(pkgs, m.pkg)
		}
		if e := m.tests.String(); !slices.Contains(exprs[m.pkg], e) {
			exprs[m.pkg] = append(exprs[m.pkg], e)
		}
	}
	outcomes := make([]outcome, len(pkgs))
	err := each(ctx, trees, len(pkgs), func(ctx context.Context, tree string, i int) error {
		var err error
		outcomes[i], err = goTest(ctx, env, tree, pkgs[i], strings.Join(exprs[pkgs[i]], "|"), 5*o.limit)
		if err == nil && !outcomes[i].passed {
			err = fmt.Errorf("%s fails without any mutant:\n%s", pkgs[i], indent(outcomes[i].output))
		}
		fmt.Fprintf(progress, "without mutants: %s, %d tests, %.1f s\n", pkgs[i], len(outcomes[i].ran), outcomes[i].duration.Seconds())
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range all {
		if len(matching(outcomes[slices.Index(pkgs, m.pkg)].ran, m.tests)) == 0 {
			err = errors.Join(err, fmt.Errorf("%s: stale: %s has no test that %s matches", m.at, m.pkg, m.tests))
		}
	}
	return err
}

// each calls f for 0 to n-1, one at a time in each tree.
func each(ctx context.Context, trees []string, n int, f func(ctx context.Context, tree string, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	next := make(chan int)
	var wg sync.WaitGroup
	errs := make([]error, len(trees))
	for w, tree := range trees {
		wg.Go(func() {
			for i := range next {
				if errs[w] = f(ctx, tree, i); errs[w] != nil {
					cancel()
					return
				}
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	wg.Wait()
	for _, err := range errs { // the first that isn't only the other's echo
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return context.Cause(ctx)
}

// verdict is what became of a mutant.
type verdict struct {
	killed  bool
	text    string // by which tests, or why not
	output  string
	seconds float64
}

// try puts one mutant into a tree, runs its tests, and takes it out again.
func try(ctx context.Context, env []string, tree string, m *mutant, limit time.Duration) (v verdict, err error) {
	files, err := m.apply(tree)
	if err != nil {
		return v, err
	}
	for name, text := range files {
		path := filepath.Join(tree, filepath.FromSlash(name))
		old, err := os.ReadFile(path)
		if err != nil {
			return v, err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return v, err
		}
		defer func() { err = errors.Join(err, os.WriteFile(path, old, 0o644)) }()
	}
	o, err := goTest(ctx, env, tree, m.pkg, m.tests.String(), limit)
	if err != nil {
		return v, err
	}
	v.output, v.seconds = o.output, o.duration.Seconds()
	by := matching(o.failed, m.tests)
	switch {
	case !o.built:
		v.text = "INVALID: doesn't compile"
	case o.passed:
		v.text = "SURVIVED"
	case len(by) == 0:
		v.text = "SURVIVED: the package failed, but no test of that name"
	default:
		v.killed, v.text = true, strings.Join(by, ", ")
	}
	return v, nil
}

// report writes the table and says in its error what isn't proved.
func report(out io.Writer, all []mutant, verdicts []verdict, took time.Duration) error {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compareClauses(all[a].clause, all[b].clause) })
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "CLAUSE\tMUTANT\tKILLED BY")
	var bad int
	for _, i := range order {
		fmt.Fprintf(w, "%s\t%s\t%s\n", all[i].clause, all[i].name, verdicts[i].text)
		if !verdicts[i].killed {
			bad++
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d mutants, %d killed, %d not, in %v\n", len(all), len(all)-bad, bad, took.Round(time.Second))
	if bad > 0 {
		return fmt.Errorf("%d of %d mutants weren't killed", bad, len(all))
	}
	return nil
}

// compareClauses puts G2 before G10, and words behind numbers.
func compareClauses(a, b string) int {
	number := func(s string) int {
		var n int
		if _, err := fmt.Sscanf(s, "G%d", &n); err != nil {
			return 1000
		}
		return n
	}
	if d := number(a) - number(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

func indent(s string) string {
	const most = 4000
	if len(s) > most {
		s = "…" + s[len(s)-most:]
	}
	return "    | " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n    | ")
}
