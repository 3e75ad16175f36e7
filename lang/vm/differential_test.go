package vm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"go.starlark.net/syntax"

	"starling/lang/compile"
	"starling/lang/effect"
	"starling/lang/vm"
)

// report is everything a program shows: what it printed, its globals, and its error with the stack.
type report struct {
	prints  strings.Builder
	globals string
	err     string
}

func (r *report) String() string {
	return fmt.Sprintf("prints:\n%s\nglobals: %s\nerror: %s", r.prints.String(), r.globals, r.err)
}

// predeclared are the names of a differential program; print writes to the report.
func (r *report) predeclared() starlark.StringDict {
	return starlark.StringDict{
		"print": starlark.NewBuiltin("print", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			fmt.Fprintln(&r.prints, args)
			return starlark.None, nil
		}),
		"struct":    starlark.NewBuiltin("struct", starlarkstruct.Make),
		"catch":     starlark.NewBuiltin("catch", catch),
		"freeze":    starlark.NewBuiltin("freeze", freeze),
		"hasfields": starlark.NewBuiltin("hasfields", newHasFields),
		"fibonacci": &fib{},
	}
}

// onReference runs a program on go.starlark.net.
func onReference(src string, opts syntax.FileOptions) *report {
	r := new(report)
	globals, err := starlark.ExecFileOptions(&opts, new(starlark.Thread), "test.star", src, r.predeclared())
	r.globals = globals.String()
	var e *starlark.EvalError
	switch {
	case errors.As(err, &e):
		r.err = e.Backtrace()
	case err != nil:
		r.err = err.Error()
	}
	return r
}

// onMachine runs a program on ours.
func onMachine(src string, opts syntax.FileOptions) *report {
	r := new(report)
	predeclared := r.predeclared()
	code, err := compile.Compile(compile.Source{Name: "test.star", Text: []byte(src), Options: opts, Predeclared: predeclared.Has})
	if err != nil {
		r.globals, r.err = "{}", err.Error()
		return r
	}
	image, err := vm.Load([]*compile.Module{code}, &effect.Environment{Names: predeclared})
	if err != nil {
		r.globals, r.err = "{}", err.Error()
		return r
	}
	m, err := image.Start(nil)
	if err == nil {
		err = finish(m)
	}
	r.globals = m.Globals().String()
	var e *vm.Error
	switch {
	case errors.As(err, &e):
		r.err = e.Backtrace()
	case err != nil:
		r.err = err.Error()
	}
	return r
}

// compareEngines runs a program on both and compares all they show.
func compareEngines(t *testing.T, src string) {
	t.Helper()
	for _, recursion := range []bool{true, false} {
		opts := syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: recursion}
		want, got := onReference(src, opts).String(), onMachine(src, opts).String()
		if got != want {
			t.Errorf("%s\n--- got\n%s\n--- want\n%s", src, got, want)
		}
	}
}

func TestExpressionsAgree(t *testing.T) {
	for _, src := range strings.Split(strings.TrimSpace(expressionTable), "\n") {
		compareEngines(t, "x = "+src+"\nprint(x)")
	}
}

// expressionTable is the table of go.starlark.net's TestEvalExpr, and more.
const expressionTable = `
123
-1
"a"+"b"
1+2
[]
[1]
[1,]
[1, 2]
[2 * x for x in [1, 2, 3]]
[2 * x for x in [1, 2, 3] if x > 1]
[(x, y) for x in [1, 2] for y in [3, 4]]
[(x, y) for x in [1, 2] if x == 2 for y in [3, 4]]
()
(1)
(1,)
(1, 2)
(1, 2, 3, 4, 5)
1, 2
{}
{"a": 1}
{"a": 1,}
1 if 3 > 2 else 0
1 if "foo" else 0
1 if "" else 0
["a", "b"][0]
("a", "b")[1]
"aΩb"[0]
"aΩb"[3]
{"a": 1}["a"]
{"a": 1}["b"]
{}[[]]
{"a": 1}[[]]
[x for x in range(3)]
1 // 0
1 % 0
1.0 / 0
1 + "a"
"a" * -1
[1] * 3
3 * (1, 2)
"%s %r %d" % ("a", "b", 3)
"%s" % (1, 2)
"%d" % "x"
"abc"[1:2]
"abc"[::-1]
"abc"["a"]
"abc"["a":]
"abc"[:"a"]
"abc"[::0]
"abc"[::"a"]
[1, 2, 3][5]
[][0]
[1, 2, 3][-4]
(1, 2)[2]
1[0]
1 < "a"
[1] < [2]
[1] < ["a"]
1 in 2
1 not in [2]
[] in {}
"a" in "abc"
1 in "abc"
not 1
-"a"
+[]
~1
~1.0
None.x
"a".nosuch
"a".upperr()
{}.gett
[].apend(1)
1()
len(1)
len([1, 2], 3)
len(x = 1)
sorted([3, 1, 2], key = lambda x: -x)
sorted([3, "a"])
sorted([1, 2], key = lambda x: x.y)
sorted([1, 2], key = lambda x: [3, "a"][x - 1])
sorted([1, 2], key = None)
sorted(1, key = len)
sorted(key = len)
min(1, 2, key = lambda x: -x)
min([], key = len)
min(1, key = len)
min(key = len)
max([1, "a"], key = lambda x: x)
max([1, 2], ky = 1)
min([1, 2, 0], key = lambda x: 1 // x)
max(1, 2.5)
[1 for x in 3]
[1 for x, y in [(1, 2), 3]]
[1 for x, y in [(1, 2, 3)]]
{x: 1 for x in [[]]}
{1: 2, 1: 3}
{1: 2, [x for x in (1,)][0]: 3}
(lambda x, y = 2, *a, z, **k: (x, y, a, z, k))(1, z = 3, q = 4)
(lambda: x)()
(lambda *a: a)(*[1, 2], **{})
(lambda *a: a)(*1)
(lambda **k: k)(**1)
(lambda **k: k)(**{1: 2})
(lambda a, **k: k)(1, **{"a": 2})
(lambda a: a)(**{"b": 2})
getattr(1, "x")
hasattr("", "upper")
dir("")[:3]
1 << 600
1 >> -1
1.5 << 2
10 | 5, 10 & 6, 10 ^ 3
{1: 2} | {3: 4}
set([1]) | set([2])
2 * 3 + 4 // 5 - 6 % 4
1 == 1.0, "a" != "b", [1] == [1], None == False
0 or "" or [] or None
1 and 2 and 0 and 3
[[y for y in range(x)] for x in range(4)]
fibonacci[0]
list(range(0, 10, 3)), range(10)[2:8:3], range(5)[::-1]
[i for i in range(10, 0, -3)]
[i for i in "abc".elems()]
"{} {x} {0!r}".format(1, x = 2)
"{} {}".format(1)
bytes("a") + b"c"
hash("abc")
struct(a = 1).a
struct(a = 1).b
struct(a = 1)
type(len), type(sorted), str(len), str(min)
int("x")
int("10", 2), float("1.5"), str(1), repr("a")
any([0, 1]), all([])
zip([1], [2]), enumerate(["a"])
fail("boom")
`

func TestParametersAgree(t *testing.T) {
	const defs = `
def a():
	return
def b(a, b):
	return a, b
def c(a, b=42):
	return a, b
def d(*args):
	return args
def e(**kwargs):
	return kwargs
def f(a, b=42, *args, **kwargs):
	return a, b, args, kwargs
def g(a, b=42, *args, c=123, **kwargs):
	return a, b, args, c, kwargs
def h(a, b=42, *, c=123, **kwargs):
	return a, b, c, kwargs
def i(a, b=42, *, c, d=123, e, **kwargs):
	return a, b, c, d, e, kwargs
def j(a, b=42, *args, c, d=123, e, **kwargs):
	return a, b, args, c, d, e, kwargs
def k(*, k): return k
`
	args := strings.Split("||1|1, 2|1, 2, 3|0, 1, 2, 3|a=0|b=1|x=1|1, b=2|1, a=2|a=1, b=2|b=1, a=2|b=1, a=2, x=1|x=1, b=1, a=2|k=3|1, 2, k=3|args=[]|kwargs={}|"+
		"0, b=1, c=2|0, b=1, d=2|0, b=1, c=2, d=3|0, b=1, c=2, d=3, e=4|0, 1, b=1, c=2, d=3, e=4|0, 1, 2, c=3, e=4|0, 1, e=2|*[1]|*[1, 2], **{'c': 3, 'e': 4}|"+
		"1, *[2, 3], **{}|**{'a': 1}|**{'a': 1, 'a2': 2}", "|")
	for _, name := range strings.Split("abcdefghijk", "") {
		for _, arg := range args {
			compareEngines(t, defs+"print("+name+"("+arg+"))")
		}
	}
}

// TestProgramsAgree runs programs for order of evaluation, unpacking, locks, messages and positions on both engines.
func TestProgramsAgree(t *testing.T) {
	for _, src := range strings.Split(programs, "\n---\n") {
		compareEngines(t, src)
	}
}

const programs = `
def f(x): return 1//x
def g(x): return f(x)
def h(): return min([1, 2, 0], key=g)
def i(): return h()
i()
---
i = 1
def f(): ''.join([1//i])
f()
---
i = 0
def f(): ''.join([1//i])
f()
---
def log(x):
    print(x)
    return x
d = {}
log(d)[log("k")] = log("v")
log(d)[log("k")] += log("w")
l = [1, 2, 3]
log(l)[log(0)], log(l)[log(1)] = log((7, 8))
x = log(1) + log(2) * log(3) if log(False) else log(4)
y = log(0) and log(1) or log(2)
z = [log(a) for a in log([1, 2]) if log(a) > 1]
w = {log(1): log(2), log(3): log(4)}
s = log("abcdef")[log(1):log(5):log(2)]
c = log(1) < log(2)
log(log)(log(1))
---
def f():
    for x in [1, 2, 3]:
        if x == 2:
            return x
def g():
    for x in [1, 2, 3]:
        for y in [1, 2, 3]:
            if y == 2: break
            if x == 2: continue
            print(x, y)
f(); g()
---
l = [1, 2, 3]
def f():
    for x in l:
        l.append(x)
print(catch(f)); l.append(4); print(l)
def g():
    for x in l:
        for y in l:
            fail("stop")
print(catch(g)); l.append(5); print(l)
d = {1: 2}
def h():
    for k in d:
        d[k] = 3
print(catch(h)); d[5] = 6; print(d)
---
l = freeze([1, 2])
l += [3]
---
l = [1, 2]
m = l
l += l
l += (3,)
l += {4: 5}
print(l, m)
for x in l:
    l += []
---
d = {1: 2}
e = d
d |= {3: 4}
d |= d
print(d, e)
freeze(d)
d |= {}
---
d = {}
d |= 1
---
l = [1]
l += hasfields()
print(l)
---
h = hasfields()
h.x = 1
h.x += 2
print(h.x)
h.nope = 1
---
h = freeze(hasfields())
h.x = 1
---
x = 1
x.y = 2
---
struct(a = 1).b = 2
---
def f(n):
    if n == 0: return 0
    return 1 + f(n - 1)
f(10)
---
def f(x):
    def g(): return x
    x = x + 1
    return g
print(f(1)())
fs = [lambda: i for i in range(3)]
print([f() for f in fs])
def h():
    def inner(): return later
    print(catch(inner))
    later = 1
    return inner()
print(h())
---
def f():
    x = [y for y in z]
    z = 1
f()
---
def f(a, b = [], *c, d = {}, **e):
    b.append(a)
    return b, d
print(f(1), f(2))
---
a, b = 1, 2
(a, b), [c, d] = (b, a), "cd".elems()
print(a, b, c, d)
a, b = {1: 2, 3: 4}
print(a, b)
a, b = 1
---
a, b = [1, 2, 3]
---
a, b = fibonacci
---
[a, b] = [1]
---
for a, b in [(1, 2), (3,)]:
    print(a, b)
---
i = 0
while i < 10:
    i += 1
    if i % 2: continue
    if i > 6: break
    print(i)
---
def f(): return undefined_later
undefined_later = 1
print(f())
def g(): return never
def h():
    if False:
        never2 = 1
    return never2
h()
---
print(x)
x = 1
---
x += 1
x = 1
---
print(undefned)
undefined = 1
---
def f(
---
x = 1 +
---
f(1, a = 2, 3)
---
def f(x, x): pass
---
for x in range(3): pass
print(x)
---
def f(*args, **kwargs):
    return len(args) + len(kwargs)
print(f(*range(300)), f(*"ab".elems(), **{"c": 1}))
def g(): f(*1)
g()
---
def deep(n):
    return [deep(n - 1)] if n else []
print(len(str(deep(50))))
---
def f():
    "doc"
    "x"
    1
    return
print(f())
---
x = [1, 2, 3]
x[0], x[1] = x[1], x[0]
x[5] = 1
---
x = (1, 2)
x[0] = 1
---
x = {}
x[[]] = 1
---
x = "abc"[1:
2:"z"]
---
def f(s, i):
    return s[i:][1]
f("abc", None)
f("abc", "x")
---
def f(a):
    a.b.c
f(struct(b = 1))
---
def f(a):
    return (a.b)(1)
f(struct(b = len))
---
def f(a):
    return a.b(1)
print(f(struct(b = lambda x: x + 1)))
f(struct(b = [].append))
f(struct(b = 1))
---
def f(x):
    return x.append(1).append(2)
f([])
---
x = [].append(1, 2)
---
x = {}.get()
---
x = {}.get([])
---
x = freeze([]).append(1)
---
def f(l):
    for x in l: l.append(x)
f([1])
---
print("x".join(["a", "b"]), "a,b".split(","), " a ".strip(), "abc".find("c"), "abc".startswith("a"), {}.get(1), {1: 2}.get(1), {}.get(1, 2))
print("".join(1))
---
print("".join([1]))
---
x = [lambda: 1, lambda: 2]
print(x[0](), x, x[0] == x[0], x[0] == x[1], {len: 1}[len])
---
def f():
    return f
print(f() == f, f in [f], str(f), type(f), hash(f) == hash(f), bool(f))
---
x = 100000000000 * 100000000000
print(x, x // 7, -x, x % 1000, x == x + 0, x < x + 1, 2147483647 + 1, -2147483648 - 1, 1 << 40)
print([i for i in range(2147483646, 2147483650)])
---
print(0.1 + 0.2, 1e10, 1.0, 3 / 2, 7 // 2.0, 7.5 % 2, float("nan") == float("nan"), float("inf"), -0.0)
---
print({1: "a", 1.0: "b", True: "c"}, {(1, 2): 3}[(1, 2)])
---
def outer():
    x = 1
    def middle():
        def inner():
            return x
        return inner
    return middle()()
print(outer())
---
x = 5
def f(): return [x for x in range(x)]
print(f(), [x for x in range(x) if x], x)
---
print([(a, b) for a, b in {1: 2}.items()], [a for (a, _) in [(1, 2)]], {a: b for a, [b] in [(1, [2])]})
---
def f(n): return catch(lambda: g(n))
def g(n): return 1 // n
print(f(0), f(1))
def h(n): return sorted([n], key = lambda x: catch(lambda: 1 // x))
print(h(0))
---
def f(n): return f(n + 1)
print(catch(lambda: f(0))[:23])
---
x = {}
x["a"] += 1
---
x = [0]
x[1] += 1
---
x = []
x += 1
---
x = "a"
x += 1
---
x = 1
x -= "a"
---
print([1, 2, 3] == [1, 2, 3.0], (1, 2) < (1, 3), [] < [1], "a" < "b", 1 < 2.5)
x = []
x.append(x)
print(x == x)
y = []
y.append(y)
print(x == y)
`

func TestSpellingAgrees(t *testing.T) {
	for _, name := range []string{"apend", "Append", "a_ppend", "extnd", "zzz", "indexx", "a"} {
		compareEngines(t, "[]."+name)
		compareEngines(t, "struct(append = 1, extend = 2)."+name)
	}
}
