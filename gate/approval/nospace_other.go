//go:build !unix

package approval

func isNoSpace(error) bool { return false }
