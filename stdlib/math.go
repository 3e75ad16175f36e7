package stdlib

import (
	"go.starlark.net/lib/math"
	"go.starlark.net/starlark"

	"starling/lang/effect"
)

// mathModule is go.starlark.net's module math with documentation.
func mathModule() starlark.StringDict {
	all := members(
		mathFunction("ceil", "The least int that is not less than x.", "int", "x"),
		mathFunction("floor", "The greatest int that is not greater than x.", "int", "x"),
		mathFunction("round", "The float nearest to x that is a whole number; halves away from zero.", "float", "x"),
		mathFunction("fabs", "The absolute value of x, as a float.", "float", "x"),
		mathFunction("copysign", "x with the sign of y.", "float", "x", "y"),
		mathFunction("mod", "The remainder of x / y, with the sign of x.", "float", "x", "y"),
		mathFunction("remainder", "The IEEE 754 remainder of x / y.", "float", "x", "y"),
		mathFunction("pow", "x to the power of y.", "float", "x", "y"),
		mathFunction("exp", "e to the power of x.", "float", "x"),
		mathFunction("sqrt", "The square root of x.", "float", "x"),
		mathFunction("acos", "The arc cosine of x, in radians.", "float", "x"),
		mathFunction("asin", "The arc sine of x, in radians.", "float", "x"),
		mathFunction("atan", "The arc tangent of x, in radians.", "float", "x"),
		mathFunction("atan2", "The arc tangent of y / x in radians, in the quadrant of both.", "float", "y", "x"),
		mathFunction("cos", "The cosine of x radians.", "float", "x"),
		mathFunction("hypot", "The length of the vector (x, y).", "float", "x", "y"),
		mathFunction("sin", "The sine of x radians.", "float", "x"),
		mathFunction("tan", "The tangent of x radians.", "float", "x"),
		mathFunction("degrees", "x radians in degrees.", "float", "x"),
		mathFunction("radians", "x degrees in radians.", "float", "x"),
		mathFunction("acosh", "The inverse hyperbolic cosine of x.", "float", "x"),
		mathFunction("asinh", "The inverse hyperbolic sine of x.", "float", "x"),
		mathFunction("atanh", "The inverse hyperbolic tangent of x.", "float", "x"),
		mathFunction("cosh", "The hyperbolic cosine of x.", "float", "x"),
		mathFunction("sinh", "The hyperbolic sine of x.", "float", "x"),
		mathFunction("tanh", "The hyperbolic tangent of x.", "float", "x"),
		mathFunction("gamma", "The Gamma function of x.", "float", "x"),
		reference(math.Module.Members["log"], "math.log", "The logarithm of x.", "float",
			effect.Param{Name: "x", Type: "number", Doc: "A positive number."},
			effect.Param{Name: "base", Type: "number", Default: "math.e", Doc: "The base."}),
	)
	all["e"] = math.Module.Members["e"]
	all["pi"] = math.Module.Members["pi"]
	return all
}

// mathFunction takes ints and floats alike, as the reference does, and so never has to say which.
func mathFunction(name, doc, result string, params ...string) *effect.Builtin {
	ps := make([]effect.Param, len(params))
	for i, p := range params {
		ps[i] = effect.Param{Name: p, Type: "number", Doc: "An int or a float."}
	}
	return reference(math.Module.Members[name], "math."+name, doc, result, ps...)
}
