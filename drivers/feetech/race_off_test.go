//go:build !race

package feetech_test

const raced = false
