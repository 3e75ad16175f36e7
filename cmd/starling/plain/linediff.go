package plain

// maxCompared bounds the product of the lines that are compared with each other; beyond it whole
// texts stand against each other.
const maxCompared = 1 << 22

// Diff lists the lines of two texts, those that are only in the first behind "-", those that are
// only in the second behind "+", as few as there can be.
func Diff(a, b []string) []string {
	var head, tail []string
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, "  "+a[0])
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append([]string{"  " + a[len(a)-1]}, tail...)
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return append(append(head, middleDiff(a, b)...), tail...)
}

func middleDiff(a, b []string) []string {
	common := commonLines(a, b)
	var out []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common != nil && common[i+1][j] >= common[i][j+1]:
			out = append(out, "- "+a[i])
			i++
		case i < len(a) && common == nil:
			out = append(out, "- "+a[i])
			i++
		default:
			out = append(out, "+ "+b[j])
			j++
		}
	}
	return out
}

// commonLines counts how many lines the rests of two texts have in common, by where the rests
// begin; nil for texts that are too long for that.
func commonLines(a, b []string) [][]int {
	if len(a)*len(b) > maxCompared {
		return nil
	}
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	return common
}
