# Two commands matter: `make run` and `make test`. Only Go, make and git are assumed.
GO      ?= go
BIN     := bin/tau
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X github.com/tau-robot/tau/cmd/tau/internal/cli.version=$(VERSION)
# The linter lives in a module of its own, so that its dependencies never touch ours.
LINT    := $(GO) tool -modfile=.ci/tools/go.mod golangci-lint

export CGO_ENABLED = 0

.PHONY: run build test deps lint bench cross mutants pictures soak firmware hil

# Builds and starts the simulator with the built-in arm: prompt, approvals, MCP over HTTP on loopback.
run: build
	./$(BIN) robot sim

build:
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/tau

# Both targets that we ship, as static binaries.
cross:
	GOOS=linux GOARCH=amd64 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/tau-linux-amd64 ./cmd/tau
	GOOS=linux GOARCH=arm64 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/tau-linux-arm64 ./cmd/tau

# The tests of whole programs with hardware, emulated or not, that keeps to the wall clock.
# They run by themselves, because a process that gets no time is one that the board's watchdog ends.
BOARDS = TestOnTheEmulatedBoard|TestConformanceOnTheEmulatedBoard|TestOnTheWallClock|TestHIL.*|Test.*SDK|$(shell sed -n 's/^func \(Test[A-Za-z0-9_]*\)[^A-Za-z0-9_].*/\1/p' \
	$$(grep -l 'boardtest\.' cmd/tau/*_test.go) | paste -s -d '|' -)

# Installs what the tests need beside Go (.ci/deps names it), then runs all of them.
test: deps cross
	$(GO) vet ./...
	CGO_ENABLED=1 TAU_BOARDS=later $(GO) test -race -timeout 20m ./...
	CGO_ENABLED=1 $(GO) test -race -count 1 -timeout 10m ./drivers/mcu/boardtest
	CGO_ENABLED=1 $(GO) test -race -count 1 -timeout 10m ./drivers/mcu ./drivers/feetech/emulator ./drivers/gobot ./cmd/tau -p 1 -run '^($(BOARDS))$$'
	$(GO) test -timeout 5m ./motion -run '^(TestRehearsalAloneRefusesCollidingPlans|TestHonestPlansRehearseClean)$$' # whole; fewer plans under -race

deps:
	sh .ci/deps

lint:
	$(LINT) run ./...

# The firmware for each pin map, with what it takes of the chip; then its own tests.
firmware:
	$(MAKE) -C firmware/avr MAP=servo8 SERVOS=2 all size
	$(MAKE) -C firmware/avr MAP=servo8 all size
	$(MAKE) -C firmware/avr MAP=stepper3 all size
	$(MAKE) -C firmware test

# Hardware in the loop: the firmware in an emulated chip, or with TAU_HIL_PORT=/dev/ttyACM0
# what needs no pin trace on a board of your own (docs/HIL.md).
hil:
	TAU_HIL_SUITE=1 $(GO) test -count 1 -timeout 10m $(if $(TAU_HIL_PORT),-p 1) ./firmware/... ./drivers/...
	$(GO) test -count 1 -timeout 10m -run TestHIL ./cmd/tau

# Breaks each promise of the gate, the lane, the planner and the simulator on
# purpose, one at a time, and demands that a test named for it fails.
mutants:
	$(GO) -C .ci/mutants test .
	$(GO) run -C .ci/mutants .

bench: build
	$(GO) test -run '^$$' -bench . -benchmem ./...
	./$(BIN) robot bench gate
	./$(BIN) robot bench sim
	./$(BIN) robot bench kinematics
	./$(BIN) robot bench start
	./$(BIN) robot bench wire

# The slow ones at their full length: a bridge's day is killed 200 times, and the models
# of the stores run long.
soak: deps
	$(GO) test -timeout 30m ./cmd/tau/internal/bridge -run 'TestG44_ADay' -v -kills 200
	$(GO) test -timeout 30m ./gate/approval -run 'Model|KillNine|Power' -v -rapid.checks 1000 -power 1000

# Draws the pictures of the README again, each by the command that stands beside it there.
pictures: build
	./$(BIN) robot plan --scene testdata/scenes/table.json --to shoulder_pan=0.8,elbow_flex=-0.2 \
		--picture docs/img/arm.png --plot docs/img/plan.png >/dev/null
	./$(BIN) robot check panda --plot docs/img/check.png >/dev/null
	./$(BIN) robot plan --robot rover --scene testdata/scenes/room.json --pose 1,0.55,0,0.7071,0,0,0.7071 \
		--picture docs/img/rover.png >/dev/null
	./$(BIN) robot plan --robot gantry --waypoints '0.2,0.1,0.25;0.2,0.1,0.15;-0.1,-0.15,0.15' \
		--picture docs/img/gantry.png >/dev/null
