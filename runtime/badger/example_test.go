package badger_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"starling/runtime"
	"starling/runtime/badger"
)

// Of two batches that expect a run at the same place, one is applied.
func Example() {
	parent, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(parent)
	store, err := badger.Open(filepath.Join(parent, "store"), badger.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	for _, value := range []string{"first", "second"} {
		err := store.Commit(context.Background(), &runtime.Batch{
			Fences: []runtime.Fence{{Run: "deploy", Expect: 0, Next: 1}},
			Writes: []runtime.Write{{Key: []byte("greeting"), Value: []byte(value)}},
		})
		fmt.Println(err, errors.Is(err, runtime.ErrFenced))
	}
	value, err := store.Get([]byte("greeting"))
	fmt.Println(string(value), err)
	// Output:
	// <nil> false
	// another owner or another writer of this run was first: run deploy stands at 1, the batch expects 0 true
	// first <nil>
}
