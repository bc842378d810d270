//go:build !unix

package approval

func isNoSpace(error) bool { return false }

func isReadOnly(error) bool { return false }
