package vm

// A snapshot is a machine written down: position and heap, no code. It is read back by an image of
// the same program, in this process or another, and the machine that comes of it cannot be told
// from the first. Equal machines have equal bytes.
//
//	header   "STRL" · format u16 · code generator u8 · flags u8 · behaviour u32 · payload length u32 · MAC 16 bytes
//	payload  program   16 bytes: what the image is made of
//	         names     count, (length, text)*: builtins, natives and modules that values refer to
//	         strings   count, (length, bytes)*: each text once
//	         shells    count, (kind, size)*: one for each object, so that references can be resolved before bodies are read
//	         bodies    the contents of the objects, in the same order
//	         roots     fibers, scheduler, counters, and the globals of modules that belong to the run
//
// Numbers in the header are big-endian, all others unsigned or zigzag varints. The MAC is
// HMAC-SHA256 over header and payload, cut to 16 bytes, with a key that the store keeps: what was
// not written by this store is refused before it is looked at.
//
// A value is a tag and what the tag calls for:
//
//	00 unset        01 None         02 False        03 True
//	04 int          zigzag          05 big int      sign, length, magnitude
//	06 float        8 bytes         07 text         length, bytes (shorter than a reference would be)
//	08 text         number          09 bytes        length, bytes
//	0a ()                           0b range        start, stop, step
//	0c view         which, value    0d permanent    module, number
//	0e named        number          0f forever()
//	10 object       number
//	40-7f the ints 0 to 63          80-ff the objects 0 to 127
//
// An object is anything with an identity, or whose contents may refer back to it:
//
//	01 list n   02 dict n   03 set n   04 tuple n   05 cell   06 function module ordinal   07 record type
//	08 method of a Starlark value   09 method of one of ours   0a contract   0b secret   0c host value codec n
//
// with 80 added to the kind of a frozen list, dict or set, and 40 to that of an empty dict or set
// that once had a key: go.starlark.net looks at the key that such a one is asked for, and not at
// that of `{}`. Objects are numbered in the order in which they are first met, breadth first from
// the roots: the encoder works off a list and never recurses, so that a list nested a million deep
// is written in constant stack.
//
// What pure load-time code made is permanent: frozen, shared by all runs of the image, and referred
// to by (module, number), see permanent.go. It is never written into a run.
//
// The decoder trusts nothing, even behind the MAC: tags are closed, every count is bounded by the
// bytes that are left, so that no input makes it allocate more than a small multiple of its size,
// and what the registers, iterators and positions of a frame may be is held against the code.
//
// The order in which objects are filled matters. Host values are made of whole parts, and dicts
// need the hashes of their keys, hence filled tuples. So: shells, then methods and host values on
// demand, tuples and records, dicts and sets, and last what may refer to anything: lists, cells and
// functions.

const (
	snapshotMagic  = "STRL"
	snapshotFormat = 8
	headerSize     = 4 + 2 + 1 + 1 + 4 + 4
	macSize        = 16

	// flagExact marks a snapshot that stands between any two instructions and names positions by
	// their index in the code. Only the same code generator reads it; tests write it.
	flagExact = 1
)

const (
	tagUnset byte = iota
	tagNone
	tagFalse
	tagTrue
	tagInt
	tagBig
	tagFloat
	tagShort
	tagText
	tagBytes
	tagEmpty
	tagRange
	tagView
	tagPermanent
	tagNamed
	tagForever
	tagObject

	tagSmallInt    byte = 0x40
	tagSmallObject byte = 0x80
)

const (
	objList byte = iota + 1
	objDict
	objSet
	objTuple
	objCell
	objFunction
	objRecord
	objMethod
	objEffectMethod
	objContract
	objSecret
	objHost

	objFrozen  byte = 0x80
	objEmptied byte = 0x40
)

// shortText is the length below which a text is written where it stands.
const shortText = 3
