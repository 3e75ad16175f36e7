package vm_test
import ("testing";"fmt";"starling/lang/effect";"go.starlark.net/starlark")
func TestZZ(t *testing.T){
 p := &player{t: t, names: machineNames()}
 fmt.Println(p.script(`
def main():
    h = gate("review", wait = False)
    def ask():
        r = h.decision()
        print("got")
        return r
    return parallel([ask, ask])
`, nil))
 p.m.Settle("review", effect.Outcome{Value: effect.MustEncode(starlark.String("x"))})
 fmt.Println(p.m.Runnable())
 fmt.Println(p.run())
}
