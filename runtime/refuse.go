package runtime

// refuse makes a refusal without help.
func refuse(kind ErrorKind, format string, args ...any) *Refusal {
	return Refuse(kind, "", format, args...)
}
