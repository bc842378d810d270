// A module of its own, so that what tests the tests is no part of the product.
module github.com/tau-robot/tau/ci/mutants

go 1.26
