package vm_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	starlarkproto "go.starlark.net/lib/proto"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// protoModule is the reference's protobuf library with the descriptors of its test. The library
// looks for them in the thread that calls proto.file, which here is one of its own.
func protoModule(t testing.TB, dir string) *starlarkstruct.Module {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "starlark", "testdata", "proto", "test.fds"))
	if err != nil {
		t.Fatal(err)
	}
	files := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(data, files); err != nil {
		t.Fatal(err)
	}
	pool, err := protodesc.NewFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	thread := new(starlark.Thread)
	starlarkproto.SetPool(thread, pool)
	members := maps.Clone(starlarkproto.Module.Members)
	file := members["file"].(*starlark.Builtin)
	members["file"] = starlark.NewBuiltin("proto.file", func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return file.CallInternal(thread, args, kwargs)
	})
	return &starlarkstruct.Module{Name: "proto", Members: members}
}
