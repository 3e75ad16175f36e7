// Package redact hides the values of secrets in what is said, before anything of it is cut, kept or
// shown. It is the one redactor of this program: every stream of a process and every text from
// outside passes through it, and "[NAME]" stands where a value was.
//
// A value is found
//
//   - as it is;
//   - as JSON has it, however its characters are escaped (\/ \" \n \u0041 \u00e9), also as JSON within
//     JSON, where backslashes double;
//   - as URLs have it, however many of its characters are percent-encoded, also twice, and with + for
//     a space;
//   - in base64, standard or for URLs, wherever in the encoded text it begins, padded or not, folded
//     into lines or not;
//   - in hexadecimal, of lower or of upper case;
//   - and each long line of a value of several lines for itself.
//
// Where a text ends in the middle of a value, because its writer was ended or had no room, what
// there is of the value is hidden as well from [Least] characters on. What a program makes of a
// value otherwise, reversed or encrypted, cannot be known.
//
// Not every value is hidden: see [Plain].
package redact
