# Atoll. Two commands do everything on a fresh Debian 12: `make demo` and `make test`.
#
#   make            build (build/atoll, build/libatoll.a)
#   make demo       install missing packages, build, run the main job and show its result
#   make test       the same, then every test; ends with "N passed, N failed, N skipped"
#   make proof      the same with every shard of every proof; before an issue is called resolved (up to two hours)
#   make check      format, lint, static analysis
#   make bench      speed, with a history in bench/history.csv
#   make fuzz       every fuzz target for FUZZ_SECONDS (600) each
#   make coverage   lines of each module reached by its fuzz target
#   make install    install the command, the library and atoll.h; PREFIX=~/.local needs no root (default: /usr/local)
#   make docs       the generated pages of docs/

PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600
BUILD = build

.PHONY: all deps demo test proof check bench fuzz coverage install docs clean format

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

deps:
	@sh tools/install-deps.sh

$(BUILD)/build.ninja: CMakeLists.txt
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_INSTALL_PREFIX=$(PREFIX) > /dev/null

demo: deps
	@$(MAKE) --no-print-directory all
	@sh tools/demo.sh $(BUILD)/atoll

test:
	@sh tools/install-deps.sh test
	@$(MAKE) --no-print-directory all
	@sh tools/test.sh

proof:
	@ATOLL_SHARDS=all $(MAKE) --no-print-directory test

check: deps
	@sh tools/check.sh

bench: deps
	@$(MAKE) --no-print-directory all
	@sh bench/run.sh $(BUILD)

fuzz: deps
	@sh tools/fuzz.sh $(FUZZ_SECONDS)

coverage: deps
	@sh tools/fuzz-coverage.sh

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX) > /dev/null
	@echo "installed: $(PREFIX)/bin/atoll; to run it by name: export PATH=$(PREFIX)/bin:\$$PATH"

docs: all
	@sh tools/docs.sh $(BUILD)/atoll docs

format:
	@git ls-files '*.[ch]' | xargs clang-format -i

clean:
	@rm -rf $(BUILD)
