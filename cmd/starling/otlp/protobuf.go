package otlp

import (
	"encoding/hex"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Binary is a document in protobuf's form: protobuf.dev/programming-guides/encoding.
func Binary(document any) ([]byte, error) { return message(nil, reflect.ValueOf(document).Elem()) }

// message adds the fields of a document to b. A field that has nothing is left out, as proto3 has
// it, but one that may be missing and is there.
func message(b []byte, v reflect.Value) (_ []byte, err error) {
	for i := range v.NumField() {
		tag, form, _ := strings.Cut(v.Type().Field(i).Tag.Get("pb"), ",")
		n, err := strconv.Atoi(tag)
		if err != nil {
			return nil, fmt.Errorf("otlp: the field %s has no number", v.Type().Field(i).Name)
		}
		if b, err = field(b, protowire.Number(n), form, v.Field(i)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// field adds one field.
func field(b []byte, n protowire.Number, form string, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.Slice:
		return repeated(b, n, form, v)
	case reflect.Pointer:
		if v.IsNil() {
			return b, nil
		}
		return present(b, n, form, v.Elem())
	case reflect.Struct:
		return present(b, n, form, v)
	}
	if v.IsZero() && form != "always" {
		return b, nil
	}
	return present(b, n, form, v)
}

// repeated adds a list. Numbers are packed, as proto3 packs them.
func repeated(b []byte, n protowire.Number, form string, v reflect.Value) (_ []byte, err error) {
	kind := v.Type().Elem().Kind()
	if packed := kind == reflect.Float64 || form == "fixed"; !packed {
		for i := range v.Len() {
			if b, err = present(b, n, form, v.Index(i)); err != nil {
				return nil, err
			}
		}
		return b, nil
	}
	var all []byte
	for i := range v.Len() {
		bits, err := fixed(v.Index(i))
		if err != nil {
			return nil, err
		}
		all = protowire.AppendFixed64(all, bits)
	}
	if len(all) == 0 {
		return b, nil
	}
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), all), nil
}

// present adds a value, whatever it is.
func present(b []byte, n protowire.Number, form string, v reflect.Value) ([]byte, error) {
	switch kind := v.Kind(); {
	case kind == reflect.Struct:
		inner, err := message(nil, v)
		return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), inner), err
	case kind == reflect.Float64 || form == "fixed":
		bits, err := fixed(v)
		return protowire.AppendFixed64(protowire.AppendTag(b, n, protowire.Fixed64Type), bits), err
	case kind == reflect.Bool:
		return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), protowire.EncodeBool(v.Bool())), nil
	case kind == reflect.Int, kind == reflect.Int64:
		return protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), uint64(v.Int())), nil
	case form == "hex":
		id, err := hex.DecodeString(v.String())
		return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), id), err
	default:
		return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), strings.ToValidUTF8(v.String(), "\uFFFD")), nil
	}
}

// fixed is a number of 64 bits.
func fixed(v reflect.Value) (uint64, error) {
	if v.Kind() == reflect.Float64 {
		return math.Float64bits(v.Float()), nil
	}
	return strconv.ParseUint(v.String(), 10, 64)
}
