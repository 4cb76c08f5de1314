#!/bin/sh
# The documentation is true: generated pages are fresh, every function that the tour names exists where it says.
. tests/cli/lib.sh

sh tools/docs.sh "$ATOLL" "$dir"
for page in params stats assumptions; do
    holds "docs/$page.md is fresh (make docs)" diff -u "docs/$page.md" "$dir/$page.md"
done

# docs/architecture.md names hops as `file.c`: `function()`; other pages do so, too, with or without src/
for page in docs/architecture.md docs/*.md; do
    grep -oE '`[a-z_0-9]+/[a-z_0-9/]*\.[ch]`: `[a-z_0-9]+\(\)`' "$page"
done | tr -d '`()' | sed 's/: /:/; s/^src\///' | sort -u > "$dir/hops"
holds "the tour has hops" test "$(wc -l < "$dir/hops")" -ge 10
while IFS=: read -r file function; do
    holds "$function() is in $file" grep -qE "^[a-z_].*[ *]$function\(" "src/$file"
done < "$dir/hops"

# every folder of src/ has its row in the tour, and relative links of README, CONTRIBUTING and docs exist
for folder in src/*/; do
    holds "docs/architecture.md explains $folder" grep -q "$(basename "$folder")/" docs/architecture.md
done
grep -ohE '\]\([a-zA-Z0-9_./-]+\)' README.md CONTRIBUTING.md docs/*.md | tr -d '])(' | sort -u > "$dir/links"
while read -r link; do
    holds "link $link exists" sh -c "test -e '$link' || test -e 'docs/$link'"
done < "$dir/links"

# commands shown in README, CONTRIBUTING and docs exist
grep -ohE '(^|`|\$ )atoll [a-z]+' README.md CONTRIBUTING.md docs/*.md | sed 's/.*atoll //' | sort -u > "$dir/commands"
while read -r command; do
    holds "'atoll $command' exists" "$ATOLL" help "$command"
done < "$dir/commands"

# the version is the same everywhere
version=$("$ATOLL" --version | sed 's/^atoll //')
holds "CITATION.cff has version $version" grep -qxF "version: $version" CITATION.cff
holds "CHANGELOG.md has an Unreleased section" grep -qxF '## [Unreleased]' CHANGELOG.md
holds "CHANGELOG.md has a section of version $version" grep -qE "^## \[?$(echo "$version" | sed 's/\./\\./g')\]?( |\$)" CHANGELOG.md
finish
